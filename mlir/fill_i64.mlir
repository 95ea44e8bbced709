// A tensor of 5xi64, every element 4294967298.
// IREE makes no dispatch of a fill alone: the host fills at start-up and copies at each call
// (a pattern over 4 bytes that does not repeat takes a dispatch of __builtin_splat_i64).
//
// aiepipe-test
// output: 5xi64=4294967298
// fills: 1
func.func @fill() -> tensor<5xi64> {
  %c4294967298_i64 = arith.constant 4294967298 : i64
  %0 = tensor.empty() : tensor<5xi64>
  %1 = linalg.fill ins(%c4294967298_i64 : i64) outs(%0 : tensor<5xi64>) -> tensor<5xi64>
  return %1 : tensor<5xi64>
}
