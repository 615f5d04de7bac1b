/**
 * Control handler: answers the control requests that nodes send each other about themselves.
 *
 *   mesh.session    a session key                      mesh.exchange   manifests both ways, and other known nodes
 *   mesh.manifest   the full manifest                  mesh.schemas    contracts by their hashes
 *   mesh.community  the member list                    mesh.join       admission with an invitation
 *   mesh.merge      records of a node that we may have forgotten
 *   mesh.gossip     rounds, votes and checkpoints  
 *   mesh.witness    cosign a checkpoint                mesh.checkpoint the last one that was cosigned here
 *
 * Pure: the data of its answers comes from outside.
 */
import { z } from 'zod'
import type { Fault } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { parseCommunityDocument } from './identity/community.ts'
import type { Community } from './identity/community.ts'
import { parseJoinRequest } from './identity/invitation.ts'
import type { JoinRequest } from './identity/invitation.ts'
import type { JoinFault } from './identity/join-admission.ts'
import { JOIN_REQUEST_NAME, MEMBERSHIP_MERGE_REQUEST_NAME, SESSION_REQUEST_NAME } from './message-gate.ts'
import type { ControlHandler } from './inbound-calls.ts'
import { createMeshRefusal } from './mesh-refusal.ts'
import type { FullAndSlimOwnManifest } from './own-manifest.ts'
import type { IssuedSessions } from './sessions.ts'

export interface ManifestExchangeMessage {
  readonly manifest: Json
  readonly revision: number
  readonly digest: string
}

/** Cosigns checkpoints of peers, with the requests and answers of C2SP tlog-witness. */
export interface WitnessService {
  readonly addCheckpoint: (peer: string, body: string) => Promise<{ readonly status: number; readonly text: string }>
  readonly latest: (peer: string) => string | undefined
}

/** Receives a peer's rounds, votes and checkpoints, and returns those of this node. */
export type ConsensusGossipHandler = (peer: string, body: JsonObject) => Promise<JsonObject>

export interface ControlHandlerDependencies {
  readonly self: string
  readonly sessions: IssuedSessions
  readonly community: () => Community | undefined
  readonly own: () => FullAndSlimOwnManifest | undefined
  readonly schemas: (hashes: ReadonlySet<string>) => JsonObject
  /** Receives the other side's part of an exchange, and returns ours. */
  readonly exchange: (peer: string, message: ManifestExchangeMessage) => JsonObject
  readonly join: (request: JoinRequest) => Promise<Result<Community, JoinFault>>
  /** Adds records whose signatures were verified. */
  readonly merge: (community: Community) => Promise<void>
  readonly witness: WitnessService | undefined
  readonly gossip: ConsensusGossipHandler | undefined
}

const MAX_HASHES = 256

const sessionBody = z.object({
  ephemeral: z.string().length(43),
  signatures: z.enum(['session', 'none']).default('session'),
})
const exchangeBody = z.object({
  manifest: z.json(),
  community: z.object({ revision: z.int().min(1), digest: z.string().max(64) }),
})
const schemasBody = z.object({ hashes: z.array(z.string().max(71)).max(MAX_HASHES) })
const witnessBody = z.object({ body: z.string().max(65_536) })

type Answer = Result<Json, Fault>

export function createControlHandler(parts: ControlHandlerDependencies): ControlHandler {
  const questions: Readonly<Record<string, (body: JsonObject, sender: string) => Promise<Answer> | Answer>> = {
    [SESSION_REQUEST_NAME]: (body, sender) => {
      const { ephemeral, signatures } = sessionBody.parse(body)
      const given = parts.sessions.give(sender, ephemeral, signatures)
      return given === undefined ? fail(misread('no key')) : ok(given)
    },
    [JOIN_REQUEST_NAME]: async (body, sender) => {
      const request = parseJoinRequest(body)
      if (!request.ok)
        return fail(createMeshRefusal('invalid_signature', 'invitation', 'The join request is not its sender’s.'))
      if (request.value.nodeId !== sender || request.value.to !== parts.self)
        return fail(
          createMeshRefusal('invalid_signature', 'invitation', 'The join request is not its sender’s, or not for us.'),
        )
      const joined = await parts.join(request.value)
      return joined.ok ? ok({ community: joined.value.document }) : fail(joinFault(joined.fault))
    },
    [MEMBERSHIP_MERGE_REQUEST_NAME]: async (body, sender) => {
      const held = parts.community()
      const shown = held === undefined ? undefined : parseCommunityDocument(body['community'], held.id)
      if (shown?.ok !== true || !shown.value.members.has(sender))
        return fail(
          createMeshRefusal('unauthorized', 'stranger', 'The records do not show that their sender is a member.'),
        )
      await parts.merge(shown.value)
      return ok({ community: parts.community()?.document ?? {} })
    },
    'mesh.exchange': (body, sender) => {
      const { manifest, community } = exchangeBody.parse(body)
      return ok(parts.exchange(sender, { manifest, ...community }))
    },
    'mesh.manifest': () => ok(parts.own()?.full ?? {}),
    'mesh.community': () => ok(parts.community()?.document ?? {}),
    'mesh.schemas': (body) => ok(parts.schemas(new Set(schemasBody.parse(body).hashes))),
    'mesh.witness': async (body, sender) => {
      if (parts.witness === undefined) return fail(notHere('witness'))
      return ok({ ...(await parts.witness.addCheckpoint(sender, witnessBody.parse(body).body)) })
    },
    'mesh.gossip': async (body, sender) =>
      parts.gossip === undefined ? fail(notHere('gossip')) : ok(await parts.gossip(sender, body)),
    'mesh.checkpoint': (_, sender) => ok({ text: parts.witness?.latest(sender) ?? null }),
  }
  return (question, body, { id }) => {
    if (!question.startsWith('mesh.')) return undefined
    const answer = Object.hasOwn(questions, question) ? questions[question] : undefined
    return answer === undefined ? Promise.resolve(fail(notHere(question))) : answered(() => answer(body, id))
  }
}

async function answered(answer: () => Promise<Answer> | Answer): Promise<Answer> {
  try {
    return await answer()
  } catch (error) {
    if (error instanceof z.ZodError) return fail(misread(error.issues[0]?.message ?? 'malformed'))
    throw error
  }
}

function joinFault(fault: JoinFault): Fault {
  const sentence = JOIN_SENTENCES[fault.kind] ?? 'The member list could not be changed here.'
  if (fault.kind === 'revoked') return createMeshRefusal('revoked', 'invitation', sentence)
  if (fault.kind === 'expired-invitation' || fault.kind === 'used-invitation')
    return createMeshRefusal('expired', 'invitation', sentence)
  return createMeshRefusal('unauthorized', 'invitation', sentence)
}

const JOIN_SENTENCES: Readonly<Partial<Record<JoinFault['kind'], string>>> = {
  'unknown-invitation': 'This node has given out no such invitation.',
  'used-invitation': 'This invitation was used already. Ask for a new one.',
  'expired-invitation': 'This invitation has expired. Ask for a new one.',
  'wrong-proof': 'The invitation’s secret is not known to the sender.',
  revoked: 'This node was revoked from the community.',
  'name-taken': 'Another member has that name. Set node.name to another one.',
  'no-authority': 'This node may no longer admit members.',
}

function misread(why: string): Fault {
  return createMeshRefusal('bad_request', 'question', `The request cannot be read: ${why}.`)
}

function notHere(question: string): Fault {
  return createMeshRefusal('not_implemented', 'question', `This node does not answer ${question}.`)
}
