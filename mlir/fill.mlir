// A tensor of 4x16xi32, every element 7.
// IREE makes no dispatch of a fill alone: the host fills at start-up and copies at each call
// (a pattern over 4 bytes that does not repeat takes a dispatch of __builtin_splat_i64).
//
// aiepipe-test
// output: 4x16xi32=7
// fills: 1
func.func @fill() -> tensor<4x16xi32> {
  %c7_i32 = arith.constant 7 : i32
  %0 = tensor.empty() : tensor<4x16xi32>
  %1 = linalg.fill ins(%c7_i32 : i32) outs(%0 : tensor<4x16xi32>) -> tensor<4x16xi32>
  return %1 : tensor<4x16xi32>
}
