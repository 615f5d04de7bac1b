import { describe, expect, it } from 'vitest'
import type { ContractDisagreement } from '../bus/contract.ts'
import { formatContractDisagreements } from './contract-disagreement.ts'

const peers = [
  {
    nodeId: 'b',
    displayName: 'attic',
    source: undefined,
    refused: 0,
    refusedOffers: [],
    capabilities: 1,
    seenAgoMs: 0,
  },
]

function told(...disagreements: readonly ContractDisagreement[]): readonly string[] {
  return formatContractDisagreements({ ourNodeId: 'a', peers, disagreements })
}

describe('nodes that do not agree', () => {
  it('are named, with what they say and what counts', () => {
    expect(told({ name: 'lock.open', effects: ['reads', 'writes'], schemas: 1, nodeIds: ['a', 'b', 'c'] })).toEqual([
      'this node, attic, c do not agree on lock.open: its effect (reads, writes; on other nodes it counts as writes). Do they run the same version, and belong here?',
    ])
    expect(told({ name: 'heat.get', effects: ['reads'], schemas: 2, nodeIds: ['b', 'c'] })[0]).toContain(
      'its arguments or answers (2 schemas; a call goes to nodes with one of them)',
    )
  })

  it('on very much fill no page', () => {
    const many = Array.from({ length: 50 }, (_, n) => ({ name: `x.${n}`, effects: [], schemas: 2, nodeIds: ['b'] }))
    expect(told(...many)).toHaveLength(21)
    expect(told(...many).at(-1)).toContain('30 more capabilities')
  })
})
