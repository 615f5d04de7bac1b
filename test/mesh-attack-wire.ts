/** Mesh attack wire: how an attacker reaches a node, and what is left of it there. */
import type { EnvelopeFields } from '../src/mesh/mesh-envelope.ts'
import { askAsOwner } from './mesh-house.ts'
import type { MeshNode } from './mesh-house.ts'

export interface Answered {
  readonly status: number
  readonly text: string
  readonly proof: string
}

export interface AttackWire {
  /** Sends a message as it is, whatever is wrong with it. */
  readonly post: (fields: EnvelopeFields, proof: string, body: string) => Promise<Answered>
  /** The same for a packet: what comes back first. */
  readonly packet: (packet: string) => Promise<string>
  readonly close: () => Promise<void>
}

/** What the ledger of a node has under a trace: kinds, and how each call ended. */
export async function ledgered(node: MeshNode, traceId: string): Promise<readonly string[]> {
  return (await entriesOf(node, traceId)).map((entry) =>
    entry['outcome'] === undefined
      ? String(entry['kind'])
      : `${entry['kind']} ${entry['error_code'] ?? entry['outcome']}`,
  )
}

/** Who made the call, as the ledger of a node has it. */
export async function callerIn(node: MeshNode, traceId: string): Promise<string> {
  return String((await entriesOf(node, traceId))[0]?.['principal'])
}

async function entriesOf(node: MeshNode, traceId: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const response = await askAsOwner(node, `/api/calls/${traceId}`)
  if (response.status === 404) return []
  const { entries } = (await response.json()) as {
    readonly entries: readonly { readonly entry: Readonly<Record<string, string>> }[]
  }
  return entries.map(({ entry }) => entry)
}
