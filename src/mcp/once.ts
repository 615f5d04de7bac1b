/**
 * Once: something that is made when it is first asked for, and kept.
 *
 * Pure.
 */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}
