/**
 * Table: looking something up under a name a stranger chose, who may have chosen `constructor`.
 */
export function findOwnProperty<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
