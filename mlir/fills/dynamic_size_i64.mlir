// A 64-bit fill of a size that the caller gives: a kernel, whose value is known.
//
// aiepipe-test
// run: no
// fills: builtin 1
// fate: __builtin_splat_i64 of result 0 at each call
func.func @main(%n: index) -> tensor<?xi64> {
  %c = arith.constant 7 : i64
  %e = tensor.empty(%n) : tensor<?xi64>
  %f = linalg.fill ins(%c : i64) outs(%e : tensor<?xi64>) -> tensor<?xi64>
  return %f : tensor<?xi64>
}
