// A value and a size that the host computes: neither is known before the run.
//
// aiepipe-test
// run: no
// fills: builtin 1
// fate: __builtin_splat_i64 of result 0 at each call
func.func @main(%v: i64, %n: index) -> tensor<?xi64> {
  %s = arith.addi %v, %v : i64
  %m = arith.addi %n, %n : index
  %e = tensor.empty(%m) : tensor<?xi64>
  %f = linalg.fill ins(%s : i64) outs(%e : tensor<?xi64>) -> tensor<?xi64>
  return %f : tensor<?xi64>
}
