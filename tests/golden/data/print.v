// The codes of a module, for the words of in.hex. Its name and sizes are macros.
module print;
    reg [`TOP:0] in [0:`LAST];
    reg [`TOP:0] x;
    wire [`CODE:0] code;
    integer i;
    `NAME dut (.x(x), .code(code));
    initial begin
        $readmemh("in.hex", in);
        for (i = 0; i <= `LAST; i = i + 1) begin
            x = in[i];
            #1 $display("%h", code);
        end
    end
endmodule
