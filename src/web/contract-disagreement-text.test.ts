import { describe, expect, it } from 'vitest'
import type { ContractDisagreement } from '../bus/contract.ts'
import { formatContractDisagreements } from './contract-disagreement-text.ts'

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

describe('contract disagreements between nodes', () => {
  it('name the nodes, the differences and the value that applies', () => {
    expect(told({ name: 'lock.open', effects: ['reads', 'writes'], schemas: 1, nodeIds: ['a', 'b', 'c'] })).toEqual([
      'this node, attic, c do not agree on lock.open: its effect (reads, writes; on other nodes it counts as writes). Do they run the same version, and belong here?',
    ])
    expect(told({ name: 'heat.get', effects: ['reads'], schemas: 2, nodeIds: ['b', 'c'] })[0]).toContain(
      'its arguments or answers (2 schemas; a call goes to nodes with one of them)',
    )
  })

  it('are limited to 20 lines and a count of the others', () => {
    const many = Array.from({ length: 50 }, (_, n) => ({ name: `x.${n}`, effects: [], schemas: 2, nodeIds: ['b'] }))
    expect(told(...many)).toHaveLength(21)
    expect(told(...many).at(-1)).toContain('30 more capabilities')
  })
})
