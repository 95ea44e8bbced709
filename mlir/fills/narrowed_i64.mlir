// Values of i64: one byte repeated, four bytes repeated, and one that needs all eight.
//
// aiepipe-test
// run: no
// fills: fill_buffer 2, builtin 1
// fate: bytes [0, 64)
// fate: bytes [64, 128)
// fate: __builtin_splat_i64 of bytes [128, 192)
func.func @main() -> (tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) {
  %c = arith.constant -1 : i64
  %d = arith.constant 12884901891 : i64
  %h = arith.constant 5 : i64
  %e = tensor.empty() : tensor<8xi64>
  %f = linalg.fill ins(%c : i64) outs(%e : tensor<8xi64>) -> tensor<8xi64>
  %g = linalg.fill ins(%d : i64) outs(%e : tensor<8xi64>) -> tensor<8xi64>
  %k = linalg.fill ins(%h : i64) outs(%e : tensor<8xi64>) -> tensor<8xi64>
  return %f, %g, %k : tensor<8xi64>, tensor<8xi64>, tensor<8xi64>
}
