// 7 + A @ B, 7 + B @ A, and the 7s themselves: one fill with two users that is also returned.
// IREE fuses the fill into one dispatch, which runs twice; for the third result the host fills 64 bytes at
// offset 128 of the buffer that holds all three.
//
// aiepipe-test
// input: 4x4xi32=1
// input: 4x4xi32=2
// output: 4x4xi32=15
// output: 4x4xi32=15
// output: 4x4xi32=7
// fills: fill_buffer
func.func @main(%a: tensor<4x4xi32>, %b: tensor<4x4xi32>) -> (tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>) {
  %seven = arith.constant 7 : i32
  %empty = tensor.empty() : tensor<4x4xi32>
  %fill = linalg.fill ins(%seven : i32) outs(%empty : tensor<4x4xi32>) -> tensor<4x4xi32>
  %ab = linalg.matmul ins(%a, %b : tensor<4x4xi32>, tensor<4x4xi32>) outs(%fill : tensor<4x4xi32>) -> tensor<4x4xi32>
  %ba = linalg.matmul ins(%b, %a : tensor<4x4xi32>, tensor<4x4xi32>) outs(%fill : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %ab, %ba, %fill : tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>
}
