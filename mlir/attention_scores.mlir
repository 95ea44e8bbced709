// The scores of an attention block in i8: Q @ K^T, scaled by a shift, each row less its largest score.
// IREE folds the transposition into the matmul; the row's maximum and the subtraction are one dispatch.
//
// aiepipe-test
// fills: none
// hazards: none
func.func @scores(%q: tensor<32x64xi8>, %k: tensor<40x64xi8>) -> tensor<32x40xi8> {
  %zero = arith.constant 0 : i32
  %least = arith.constant -2147483648 : i32
  %eight = arith.constant 8 : i32
  %lowest = arith.constant -128 : i32
  %0 = tensor.empty() : tensor<64x40xi8>
  %kt = linalg.transpose ins(%k : tensor<40x64xi8>) outs(%0 : tensor<64x40xi8>) permutation = [1, 0]
  %1 = tensor.empty() : tensor<32x40xi32>
  %2 = linalg.fill ins(%zero : i32) outs(%1 : tensor<32x40xi32>) -> tensor<32x40xi32>
  %3 = linalg.matmul ins(%q, %kt : tensor<32x64xi8>, tensor<64x40xi8>) outs(%2 : tensor<32x40xi32>) -> tensor<32x40xi32>
  %4 = tensor.empty() : tensor<32xi32>
  %5 = linalg.fill ins(%least : i32) outs(%4 : tensor<32xi32>) -> tensor<32xi32>
  %most = linalg.reduce ins(%3 : tensor<32x40xi32>) outs(%5 : tensor<32xi32>) dimensions = [1]
    (%in: i32, %so_far: i32) {
      %m = arith.maxsi %in, %so_far : i32
      linalg.yield %m : i32
    }
  %6 = tensor.empty() : tensor<32x40xi8>
  %7 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%3, %most : tensor<32x40xi32>, tensor<32xi32>) outs(%6 : tensor<32x40xi8>) {
  ^bb0(%score: i32, %max: i32, %unused: i8):
    %less = arith.subi %score, %max : i32
    %scaled = arith.shrsi %less, %eight : i32
    %clamped = arith.maxsi %scaled, %lowest : i32
    %narrow = arith.trunci %clamped : i32 to i8
    linalg.yield %narrow : i8
  } -> tensor<32x40xi8>
  return %7 : tensor<32x40xi8>
}
