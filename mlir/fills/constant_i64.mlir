// A lone fill of a constant, i64: IREE hoists it to start-up.
//
// aiepipe-test
// run: no
// fills: builtin 1
// fate: __builtin_splat_i64 of bytes [0, 64) of global @__hoisted_tensor_8xi64 at start-up
func.func @main() -> tensor<8xi64> {
  %c = arith.constant 4294967298 : i64
  %e = tensor.empty() : tensor<8xi64>
  %f = linalg.fill ins(%c : i64) outs(%e : tensor<8xi64>) -> tensor<8xi64>
  return %f : tensor<8xi64>
}
