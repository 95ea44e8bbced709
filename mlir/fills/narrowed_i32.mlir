// Two values of i32 that repeat within themselves: one byte four times, two bytes twice.
//
// aiepipe-test
// run: no
// fills: fill_buffer 2
// fate: bytes [0, 32)
// fate: bytes [64, 96)
func.func @main() -> (tensor<8xi32>, tensor<8xi32>) {
  %c = arith.constant 33686018 : i32
  %d = arith.constant 196611 : i32
  %e = tensor.empty() : tensor<8xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  %g = linalg.fill ins(%d : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  return %f, %g : tensor<8xi32>, tensor<8xi32>
}
