/**
 * Own property: looks up a name from outside, which may be `constructor`.
 */
export function findOwnProperty<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
