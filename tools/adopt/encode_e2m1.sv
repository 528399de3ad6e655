// Checks an encoder of float32 to E2M1. To copy into a repository.
//
// Archive: mxref-vectors-VERSION-mxfp4.zip, unpacked; FOLDER is where it is.
//
//   iverilog -g2012 -o tb my_encoder.v encode_e2m1.sv && vvp tb +vectors=FOLDER
//
// Put your module in place of mxref_encode_e2m1_f32, which `mxref export table` writes. A line is
// the pattern of a float32, the code, and columns that are not read. E2M1 has no NaN. Exit status:
// 0 if all are right.
module encode_e2m1;
    reg [31:0] x;
    reg [7:0] want;
    wire [3:0] code;
    string folder;
    reg [8*1024-1:0] line;
    integer file, cases = 0, wrong = 0;
    mxref_encode_e2m1_f32 dut (.x(x), .code(code));

    initial begin
        if (!$value$plusargs("vectors=%s", folder))
            $fatal(1, "usage: vvp tb +vectors=FOLDER");
        file = $fopen({folder, "/plain/encode/e2m1.f32.txt"}, "r");
        if (file == 0)
            $fatal(1, "no file plain/encode/e2m1.f32.txt");
        while ($fgets(line, file) != 0 && $sscanf(line, "%h %h", x, want) == 2) begin
            #1;
            cases = cases + 1;
            if (code !== want[3:0]) begin
                if (wrong == 0)
                    $display("in %h, want %h, got %h", x, want, code);
                wrong = wrong + 1;
            end
        end
        $display("%0d cases, %0d wrong", cases, wrong);
        if (cases == 0 || wrong != 0)
            $fatal(1, "not conforming");
    end
endmodule
