// Rows less their mean, as in a layer norm: a sum along each row, a shift (64 columns), a subtraction.
//
// aiepipe-test
// fills: none
// hazards: none
func.func @centred(%x: tensor<21x64xi32>) -> tensor<21x64xi32> {
  %zero = arith.constant 0 : i32
  %six = arith.constant 6 : i32
  %0 = tensor.empty() : tensor<21xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<21xi32>) -> tensor<21xi32>
  %sums = linalg.reduce ins(%x : tensor<21x64xi32>) outs(%1 : tensor<21xi32>) dimensions = [1]
    (%in: i32, %so_far: i32) {
      %s = arith.addi %in, %so_far : i32
      linalg.yield %s : i32
    }
  %2 = tensor.empty() : tensor<21x64xi32>
  %3 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %sums : tensor<21x64xi32>, tensor<21xi32>) outs(%2 : tensor<21x64xi32>) {
  ^bb0(%a: i32, %s: i32, %unused: i32):
    %mean = arith.shrsi %s, %six : i32
    %less = arith.subi %a, %mean : i32
    linalg.yield %less : i32
  } -> tensor<21x64xi32>
  return %3 : tensor<21x64xi32>
}
