/**
 * Dependency graph: whether a task would wait for itself.
 *
 *   A depends on B depends on C        C may not depend on A: C ▸ A ▸ B ▸ C is a cycle
 */

/** The path from `task` over one of its `wanted` dependencies back to itself, or `undefined` when there is none. */
export function findDependencyCycle(
  task: string,
  wanted: readonly string[],
  dependenciesOf: (task: string) => readonly string[],
): readonly string[] | undefined {
  // Uses a stack of its own, because a chain of ten thousand tasks would be too deep for recursion. Each task is
  // visited once.
  const seen = new Set<string>()
  const cameFrom = new Map<string, string>()
  const open = [...wanted]
  for (const first of wanted) cameFrom.set(first, task)
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === task) return wayBack(task, cameFrom)
    if (seen.has(at)) continue
    seen.add(at)
    for (const next of dependenciesOf(at)) {
      if (seen.has(next)) continue
      cameFrom.set(next, at)
      open.push(next)
    }
  }
  return undefined
}

/** Ends, because `cameFrom` is never set again for a visited task, so the path leads only to earlier ones. */
function wayBack(task: string, cameFrom: ReadonlyMap<string, string>): readonly string[] {
  const way = [task]
  let at = cameFrom.get(task)
  while (at !== undefined && at !== task) {
    way.unshift(at)
    at = cameFrom.get(at)
  }
  return [task, ...way]
}
