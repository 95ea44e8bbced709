// tensor.pad of i8 rows with 7.
//
// aiepipe-test
// run: no
// fills: fill_buffer 1
// fate: bytes [0, 32) of result 0 at each call
func.func @main(%a: tensor<4x6xi8>) -> tensor<4x8xi8> {
  %z = arith.constant 7 : i8
  %r = tensor.pad %a low[0, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : i8
  } : tensor<4x6xi8> to tensor<4x8xi8>
  return %r : tensor<4x8xi8>
}
