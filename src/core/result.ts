/** Result: an expected failure as a value of a closed union, never an exception. */
export type Result<Value, Fault> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly fault: Fault }

export function ok<Value>(value: Value): { readonly ok: true; readonly value: Value } {
  return { ok: true, value }
}

export function fail<Fault>(fault: Fault): { readonly ok: false; readonly fault: Fault } {
  return { ok: false, fault }
}
