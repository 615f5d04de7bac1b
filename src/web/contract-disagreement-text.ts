/** Contract disagreement text: what nodes announce differently about one capability, as a sentence for the owner. */
import type { TopologySnapshot } from '../bus/topology.ts'

const MAX_SENTENCES = 20

export function formatContractDisagreements({
  ourNodeId,
  peers,
  disagreements,
}: Pick<TopologySnapshot, 'ourNodeId' | 'peers' | 'disagreements'>): readonly string[] {
  const names = new Map(peers.map(({ nodeId, displayName }) => [nodeId, displayName ?? nodeId]))
  const sentences = disagreements.slice(0, MAX_SENTENCES).map(({ name, effects, schemas, nodeIds }) => {
    const nodes = nodeIds.map((id) => (id === ourNodeId ? 'this node' : (names.get(id) ?? id))).join(', ')
    const strictest = effects.at(-1) ?? ''
    const about = [
      ...(effects.length > 1 ? [`its effect (${effects.join(', ')}; on other nodes it counts as ${strictest})`] : []),
      ...(schemas > 1 ? [`its arguments or answers (${schemas} schemas; a call goes to nodes with one of them)`] : []),
    ]
    return `${nodes} do not agree on ${name}: ${about.join(' and ')}. Do they run the same version, and belong here?`
  })
  const left = disagreements.length - sentences.length
  return left > 0
    ? [...sentences, `Nodes do not agree on ${left} more capabilities: \`hearthbus topology --json\`.`]
    : sentences
}
