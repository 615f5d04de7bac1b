import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findDependencyCycle } from './dependency-graph.ts'
import { rankPriority } from './priority.ts'

describe('dependency graph', () => {
  /** Edges from higher to lower numbers only: no circle, whatever they are. */
  const forest = fc.array(fc.tuple(fc.nat(12), fc.nat(12)), { maxLength: 60 }).map((pairs) => {
    const edges = new Map<string, string[]>()
    for (const [one, other] of pairs)
      if (one !== other) {
        const [from, to] = [String(Math.max(one, other)), String(Math.min(one, other))]
        edges.set(from, [...(edges.get(from) ?? []), to])
      }
    return (task: string): readonly string[] => edges.get(task) ?? []
  })

  it('finds no cycle in an acyclic graph', () => {
    fc.assert(
      fc.property(forest, (edges) => {
        for (let task = 0; task <= 12; task++)
          expect(findDependencyCycle(String(task), edges(String(task)), edges)).toBeUndefined()
      }),
    )
  })

  it('finds a cycle exactly when the task is reachable, along existing edges', () => {
    fc.assert(
      fc.property(forest, fc.nat(12), fc.nat(12), (edges, from, to) => {
        const cycle = findDependencyCycle(String(to), [String(from)], edges)
        const reachable = from === to || reaches(String(from), String(to), edges)
        expect(cycle !== undefined).toBe(reachable)
        if (cycle === undefined) return
        expect(cycle[0]).toBe(String(to))
        expect(cycle.at(-1)).toBe(String(to))
        expect(cycle[1]).toBe(String(from))
        for (const [index, task] of cycle.slice(1, -1).entries()) expect(edges(task)).toContain(cycle[index + 2])
      }),
    )
  })

  it('visits each task once, however many paths lead to it', () => {
    let lookups = 0
    const ladder = (task: string): readonly string[] => {
      lookups += 1
      const next = Number(task.slice(1)) + 1
      return next > 30 ? [] : [`l${next}`, `r${next}`]
    }
    expect(findDependencyCycle('new', ['l0', 'r0'], ladder)).toBeUndefined()
    expect(lookups).toBe(62)
  })
})

function reaches(from: string, to: string, edges: (task: string) => readonly string[]): boolean {
  return edges(from).some((next) => next === to || reaches(next, to, edges))
}

describe('task priority', () => {
  it.each([
    ['critical', 0],
    ['URGENT', 0],
    [' High ', 1],
    ['p1', 1],
    [null, 2],
    ['medium', 2],
    ['constructor', 2],
    ['low', 3],
    ['P9', 9],
    ['P10', 2],
  ])('ranks %s as %i', (word, rank) => {
    expect(rankPriority(word)).toBe(rank)
  })
})
