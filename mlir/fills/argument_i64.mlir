// A fill with a value that the caller gives, i64.
//
// aiepipe-test
// run: no
// fills: builtin 1
// fate: __builtin_splat_i64 of bytes [0, 64) of result 0 at each call
func.func @main(%v: i64) -> tensor<8xi64> {
  %e = tensor.empty() : tensor<8xi64>
  %f = linalg.fill ins(%v : i64) outs(%e : tensor<8xi64>) -> tensor<8xi64>
  return %f : tensor<8xi64>
}
