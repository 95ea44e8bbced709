// A splat constant that is returned.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: of result 0 at each call
func.func @main() -> tensor<16xi32> {
  %c = arith.constant dense<7> : tensor<16xi32>
  return %c : tensor<16xi32>
}
