// A matmul over nothing: its accumulator is the result.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: bytes [0, 48)
func.func @main(%a: tensor<4x0xi32>, %b: tensor<0x3xi32>) -> tensor<4x3xi32> {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<4x3xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<4x3xi32>) -> tensor<4x3xi32>
  %r = linalg.matmul ins(%a, %b : tensor<4x0xi32>, tensor<0x3xi32>) outs(%f : tensor<4x3xi32>) -> tensor<4x3xi32>
  return %r : tensor<4x3xi32>
}
