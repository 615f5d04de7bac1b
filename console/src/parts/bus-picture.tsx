/**
 * Bus picture: this node in the middle, its services to the left, other nodes to the right. Lines thicken with calls in
 * flight; what is in quarantine is dashed.
 */
import type { JSX } from 'preact'
import { line } from '../core/text.ts'

export interface Capability {
  readonly nodeId: string
  readonly name: string
  readonly version: string
  readonly instanceId: string
  readonly isLocal: boolean
  readonly owner: string
  readonly effect: string
  readonly inFlight: number
  readonly waiting: number
  readonly maxConcurrent: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly successRate: number
  readonly samples: number
  readonly quarantinedForMs: number
}

export interface Topology {
  readonly ourNodeId: string
  readonly peers: readonly {
    readonly nodeId: string
    readonly displayName?: string
    readonly source?: string
    readonly capabilities: number
    readonly seenAgoMs: number
  }[]
  readonly capabilitiesLocal: readonly Capability[]
  readonly capabilitiesRemote: readonly Capability[]
  readonly inFlightTotal: number
}

interface Spot {
  readonly id: string
  readonly name: string
  readonly note: string
  readonly inFlight: number
  readonly quarantined: number
}

const [WIDTH, ROW, BOX] = [900, 64, 220]
const MAX_SPOTS = 12

export function BusPicture({ topology, name }: { readonly topology: Topology; readonly name: string }): JSX.Element {
  const services = group(topology.capabilitiesLocal, ({ owner }) => owner)
  const nodes = topology.peers.slice(0, MAX_SPOTS).map((peer) => {
    const own = topology.capabilitiesRemote.filter(({ nodeId }) => nodeId === peer.nodeId)
    return spot(peer.nodeId, peer.displayName ?? peer.nodeId, own)
  })
  const height = Math.max(services.length, nodes.length, 1) * ROW + 24
  const middle = height / 2
  // A node by itself needs no room for others.
  const width = nodes.length === 0 ? WIDTH / 2 + 80 : WIDTH
  return (
    <svg
      class={nodes.length === 0 ? 'bus-picture alone' : 'bus-picture'}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`${name} with ${services.length} services and ${nodes.length} other nodes; the tables below say the same.`}
    >
      {services.map((one, index) => (
        <Link key={one.id} spot={one} from={[BOX, y(index, services.length, height)]} to={[WIDTH / 2 - 70, middle]} />
      ))}
      {nodes.map((one, index) => (
        <Link
          key={one.id}
          spot={one}
          from={[WIDTH - BOX, y(index, nodes.length, height)]}
          to={[WIDTH / 2 + 70, middle]}
        />
      ))}
      {services.map((one, index) => (
        <Box key={one.id} spot={one} x={0} y={y(index, services.length, height)} />
      ))}
      {nodes.map((one, index) => (
        <Box key={one.id} spot={one} x={WIDTH - BOX} y={y(index, nodes.length, height)} />
      ))}
      <g class="node-self">
        <rect x={WIDTH / 2 - 70} y={middle - 26} width={140} height={52} rx={26} />
        <text x={WIDTH / 2} y={middle + 5} text-anchor="middle">
          {name}
        </text>
      </g>
    </svg>
  )
}

function Link({
  spot: { inFlight, quarantined },
  from: [x1, y1],
  to: [x2, y2],
}: {
  readonly spot: Spot
  readonly from: readonly [number, number]
  readonly to: readonly [number, number]
}): JSX.Element {
  const bend = (x1 + x2) / 2
  const state = quarantined > 0 ? 'bus-link quarantined' : inFlight > 0 ? 'bus-link busy' : 'bus-link'
  return (
    <path
      class={state}
      d={`M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`}
      stroke-width={1.5 + Math.min(6, inFlight)}
    />
  )
}

function Box({
  spot: { name, note, quarantined },
  x,
  y: top,
}: {
  readonly spot: Spot
  readonly x: number
  readonly y: number
}): JSX.Element {
  return (
    <g class={quarantined > 0 ? 'bus-box quarantined' : 'bus-box'}>
      <rect x={x + 1} y={top - 24} width={BOX - 2} height={48} rx={12} />
      <text x={x + 16} y={top - 3}>
        {line(name, 24)}
      </text>
      <text class="note" x={x + 16} y={top + 15}>
        {note}
      </text>
    </g>
  )
}

function group(entries: readonly Capability[], by: (entry: Capability) => string): readonly Spot[] {
  const groups = new Map<string, Capability[]>()
  for (const entry of entries) {
    const known = groups.get(by(entry))
    if (known === undefined) groups.set(by(entry), [entry])
    else known.push(entry)
  }
  return [...groups].slice(0, MAX_SPOTS).map(([name, own]) => spot(name, name, own))
}

function spot(id: string, name: string, own: readonly Capability[]): Spot {
  const inFlight = own.reduce((sum, entry) => sum + entry.inFlight, 0)
  const quarantined = own.filter(({ quarantinedForMs }) => quarantinedForMs > 0).length
  const parts = [
    `${own.length} offered`,
    ...(inFlight > 0 ? [`${inFlight} in flight`] : []),
    ...(quarantined > 0 ? [`${quarantined} in quarantine`] : []),
  ]
  return { id, name, note: parts.join(', '), inFlight, quarantined }
}

function y(index: number, of: number, height: number): number {
  return (height * (index + 0.5)) / of
}
