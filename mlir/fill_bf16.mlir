// A tensor of 3x7xbf16, every element 1.5.
// IREE makes no dispatch of a fill alone: the host fills at start-up and copies at each call
// (a pattern over 4 bytes that does not repeat takes a dispatch of __builtin_splat_i64).
//
// aiepipe-test
// output: 3x7xbf16=1.5
// fills: 1
func.func @fill() -> tensor<3x7xbf16> {
  %cst = arith.constant 1.500000e+00 : bf16
  %0 = tensor.empty() : tensor<3x7xbf16>
  %1 = linalg.fill ins(%cst : bf16) outs(%0 : tensor<3x7xbf16>) -> tensor<3x7xbf16>
  return %1 : tensor<3x7xbf16>
}
