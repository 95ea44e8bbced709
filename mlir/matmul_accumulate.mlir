// 8x8xi32: C + A @ B, with A 8x8xi32 and B 8x8xi32.
// C is an argument and accumulated into in place: a second run needs it restored.
//
// aiepipe-test
// input: 8x8xi32=1
// input: 8x8xi32=2
// input: 8x8xi32=0
// output: 8x8xi32=16
// fills: none
func.func @matmul(%arg0: tensor<8x8xi32>, %arg1: tensor<8x8xi32>, %arg2: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %0 = linalg.matmul ins(%arg0, %arg1 : tensor<8x8xi32>, tensor<8x8xi32>) outs(%arg2 : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %0 : tensor<8x8xi32>
}
