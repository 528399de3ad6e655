// Checks an E4M3 encoder against exported vectors; here the exported table, put yours in its place:
//
//   mxref export table --format e4m3 --as verilog -o e4m3.v
//   mxref export vectors --op encode --format e4m3 --float f32 --as readmemh -o hex
//   iverilog -g2012 -o tb e4m3.v encode_tb.v
//   vvp tb +cases=3100 +in=hex/encode/e4m3.f32/in.hex +want=hex/encode/e4m3.f32/ocp.hex
//
// The number of cases is the shape in hex/index.json. Exit status: 0 if all are right.
module encode_tb;
    reg [31:0] in [0:8191];
    reg [7:0] want [0:8191];
    string in_file, want_file;
    reg [31:0] x;
    wire [7:0] code;
    integer i, cases, wrong = 0;
    mxref_encode_e4m3_f32 dut (.x(x), .code(code));

    initial begin
        if (!$value$plusargs("cases=%d", cases) || cases < 1 || cases > 8192
            || !$value$plusargs("in=%s", in_file) || !$value$plusargs("want=%s", want_file))
            $fatal(1, "usage: vvp tb +cases=N +in=IN.hex +want=COLUMN.hex");
        $readmemh(in_file, in, 0, cases - 1);
        $readmemh(want_file, want, 0, cases - 1);
        for (i = 0; i < cases; i = i + 1) begin
            x = in[i];
            #1;  // a word that is not in its file is x; every NaN is right
            if (^{x, want[i], code} === 1'bx
                || (code != want[i] && !(code[6:0] == 7'h7f && want[i][6:0] == 7'h7f))) begin
                if (wrong == 0)
                    $display("case %0d: in %h, want %h, got %h", i, x, want[i], code);
                wrong = wrong + 1;
            end
        end
        $display("%0d cases, %0d wrong", cases, wrong);
        if (wrong != 0)
            $fatal(1, "not conforming");
    end
endmodule
