// (1 + A @ B) @ B with i32: two dispatches of two shapes, and a buffer between them that nobody returns.
//
// aiepipe-test
// input: 8x16xi32=1
// input: 16x16xi32=1
// output: 8x16xi32=272
// fills: none
func.func @main(%a: tensor<8x16xi32>, %b: tensor<16x16xi32>) -> tensor<8x16xi32> {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<8x16xi32>
  %ones = linalg.fill ins(%one : i32) outs(%empty : tensor<8x16xi32>) -> tensor<8x16xi32>
  %zeros = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x16xi32>) -> tensor<8x16xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<8x16xi32>, tensor<16x16xi32>) outs(%ones : tensor<8x16xi32>) -> tensor<8x16xi32>
  %1 = linalg.matmul ins(%0, %b : tensor<8x16xi32>, tensor<16x16xi32>) outs(%zeros : tensor<8x16xi32>) -> tensor<8x16xi32>
  return %1 : tensor<8x16xi32>
}
