/**
 * Consensus tools: consensus_propose, _vote, _finality and _gossip (spec 5 § 6.3, failure pattern A). With these,
 * several people or nodes agree to one exact change.
 *
 * Pure: guard and mesh do the work.
 */
import { z } from 'zod'
import type { CapabilityBus } from '../../bus/bus.ts'
import type { Call } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import { fromHex, toBase64, toHex } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { Guard } from '../../guard/guard.ts'
import type { QuorumRoundRecord } from '../../guard/quorum-round-terms.ts'
import { createUnknownRoundFault } from '../../guard/vote-fault.ts'
import type { SignedVote, VoteDecision } from '../../guard/vote.ts'
import { encodeRandomDrawInput } from '../../ledger/random-draw.ts'
import type { RandomDrawKey } from '../../ledger/random-draw.ts'
import { createRuntimeOutcome, RUNTIME_LOCK_KEY } from '../runtime-dependencies.ts'
import { runtimeFamilyEnvelope } from '../runtime-envelope.ts'
import { createRuntimeArgumentFault } from '../faults.ts'
import { createIdArgument, MAX_REASON_LENGTH, createTextArgument } from '../text-arguments.ts'

/** The exchange with other nodes, and their rounds in which this node votes. */
export interface ConsensusPeerService {
  readonly gossip: (query: {
    readonly since: number | undefined
    readonly peers: readonly string[] | undefined
  }) => Promise<{ readonly sent: number; readonly received: number; readonly conflicts: number }>
  /** Whether a node of this name or id is known. */
  readonly isPeer: (nameOrId: string) => boolean
  /** Signs this node's vote in another node's round. */
  readonly voteInForeignRound: (
    roundId: string,
    vote: { readonly digest: string; readonly decision: VoteDecision; readonly caller: Call['caller'] },
  ) => Promise<Result<SignedVote, Fault>>
}

const MAX_OPEN_S = 86_400
const level = z.enum(['PENDING', 'SOFT', 'QUORUM', 'HARD', 'ABSOLUTE'])
const FAMILY = { family: runtimeFamilyEnvelope, lock: RUNTIME_LOCK_KEY, trustRequired: 'self' } as const

const propose = defineTool({
  ...FAMILY,
  effect: 'records',
  name: 'consensus_propose',
  title: 'Put one exact change to voters',
  description:
    'Asks several people, or nodes of the community, to agree to one exact call. Nothing happens by it: when enough have said yes (QUORUM), make the very same call, with the same arguments; it happens once. The digest covers tool, arguments, target, the tool’s definition and the rules; any change to these needs a new round. Failures are pattern A.',
  input: z.strictObject({
    tool: createIdArgument(),
    arguments: z.record(z.string(), z.json()),
    target: createIdArgument().exactOptional().describe('The device, if you want to be sure which one is meant.'),
    voters: z
      .array(createIdArgument())
      .min(1)
      .max(64)
      .exactOptional()
      .describe(
        'Names of people’s credentials, or `node:` and a node’s name or id. Absent: every person who may approve.',
      ),
    need: z.int().min(1).max(64).exactOptional().describe('Yeses that it takes; ⌊2n/3⌋+1 of n voters unless told.'),
    expires_in_s: z.int().min(1).max(MAX_OPEN_S).exactOptional(),
  }),
  output: z.object({
    round_id: z.string(),
    digest: z.string(),
    voters: z.array(z.string()),
    need: z.int(),
    status: z.enum(['PENDING', 'QUORUM']),
    log_index: z.int().describe('The entry of the ledger that opened the round.'),
  }),
})

const vote = defineTool({
  ...FAMILY,
  effect: 'records',
  forApprovers: true,
  name: 'consensus_vote',
  title: 'Vote about one exact change',
  description:
    'Signs a yes or no of the person whose credential this is, or of this node, to the call of a round. For people: an agent’s credential never votes. A voter who says both yes and no counts for neither, and both votes are kept. Codes in the message: ROUND_NOT_FOUND, ALREADY_VOTED, INVALID_KEY, ROUND_CLOSED, NOT_A_VOTER, EQUIVOCATION. Failures are pattern A.',
  input: z.strictObject({
    round_id: createIdArgument(),
    digest: z.string().regex(/^[0-9a-f]{64}$/, 'the digest of the round'),
    vote: z.enum(['yes', 'no']),
    reason: createTextArgument(MAX_REASON_LENGTH).exactOptional(),
  }),
  output: z.object({ vote_signed: z.literal(true), sig_b64: z.string(), level }),
})

const finality = defineTool({
  ...FAMILY,
  trustRequired: 'member',
  effect: 'reads',
  name: 'consensus_finality',
  title: 'How final a decision is',
  description:
    'PENDING: nobody has voted; SOFT: somebody has; QUORUM: enough yeses, the call may be made once; HARD: the witness that was drawn has cosigned the ledger with it; ABSOLUTE: the time to dispute it is over. Levels only rise. With every signed vote, and votes that contradict each other as evidence. Failures are pattern A.',
  input: z.strictObject({ round_id: createIdArgument() }),
  output: z.object({
    round_id: z.string(),
    level,
    votes: z.array(
      z.object({
        voter: z.string(),
        key_hex: z.string(),
        vote: z.enum(['yes', 'no']),
        body: z.string(),
        sig_b64: z.string(),
        log_index: z.int(),
      }),
    ),
    evidence: z.object({
      digest: z.string(),
      need: z.int(),
      voters: z.array(z.string()),
      state: z.string().describe('requested, approved, used, denied or expired'),
      quorum_index: z.int().nullable(),
      draw: z
        .object({
          alpha_hex: z.string(),
          public_key_hex: z.string(),
          proof_hex: z.string(),
          witnesses: z.array(z.string()).describe('In the order that was drawn: the first has to cosign.'),
          cosigned_by: z.string().nullable(),
          log_index: z.int(),
        })
        .nullable()
        .describe('Who makes it HARD, chosen by nobody: check it with vrf_verify and docs/protocols/consensus.md.'),
      conflicts: z.array(
        z.object({ voter: z.string(), votes: z.array(z.object({ body: z.string(), sig_b64: z.string() })) }),
      ),
    }),
  }),
})

const gossip = defineTool({
  ...FAMILY,
  effect: 'records',
  name: 'consensus_gossip',
  title: 'Exchange votes and checkpoints',
  description:
    'Exchanges rounds, votes and checkpoints with other nodes of the community now; it happens by itself as well. Votes and checkpoints that contradict each other are counted, and are findings in the ledger. Failures are pattern A.',
  input: z.strictObject({
    since: z.int().min(0).exactOptional().describe('Only rounds opened at this entry of the ledger or later.'),
    peers: z
      .array(createIdArgument())
      .max(64)
      .exactOptional()
      .describe('Names or ids; everybody who is reached unless told.'),
  }),
  output: z.object({ events_sent: z.int(), events_received: z.int(), conflicts: z.int() }),
})

export function createConsensusTools(
  bus: Pick<CapabilityBus, 'offer'>,
  guard: Pick<Guard, 'quorums' | 'approvals' | 'visible'>,
  { peers, draws }: { readonly peers: () => ConsensusPeerService | undefined; readonly draws: RandomDrawKey },
): readonly Capability[] {
  const { quorums, approvals } = guard
  const drawFor = ({ id, house, epoch, draw, hardWitness }: QuorumRoundRecord): Json => {
    if (draw === undefined) return null
    const number = approvals.get(id)?.askedSeq ?? 0
    return {
      alpha_hex: toHex(encodeRandomDrawInput({ house, epoch, purpose: 'witness', number })),
      public_key_hex: draws.publicKey,
      proof_hex: draw.proof,
      witnesses: [...draw.order],
      cosigned_by: hardWitness ?? null,
      log_index: draw.seq,
    }
  }
  return [
    propose.handledBy(async ({ tool, arguments: body, target, voters, need, expires_in_s: seconds }, context) => {
      const offer = bus.offer(tool)
      if (offer === undefined || !guard.visible(context.caller, offer))
        return fail(createRuntimeArgumentFault('tool', `there is no ${tool}`))
      const proposed = {
        ...context,
        capability: offer.name,
        versionReq: offer.version,
        body: body as JsonObject,
        planned: undefined,
      }
      const openMs = seconds === undefined ? undefined : seconds * 1_000
      const made = await quorums.propose(proposed, offer, { target, voters, need, openMs })
      if (!made.ok) return made
      const round = made.value.round as QuorumRoundRecord
      return createRuntimeOutcome({
        round_id: round.id,
        digest: round.digest,
        voters: round.voters.map(({ voter }) => voter),
        need: round.need,
        status: made.value.state === 'approved' ? 'QUORUM' : 'PENDING',
        log_index: made.value.askedSeq ?? 0,
      })
    }),

    vote.handledBy(async ({ round_id: roundId, digest, vote: choice, reason = '' }, { caller }) => {
      const decision = choice === 'yes' ? 'allow' : 'deny'
      const cast =
        quorums.get(roundId) === undefined
          ? await peers()?.voteInForeignRound(roundId, { digest, decision, caller })
          : await quorums.vote(roundId, { by: caller, decision, reason, digest })
      if (cast === undefined) return fail(createUnknownRoundFault(roundId))
      if (!cast.ok) return cast
      return createRuntimeOutcome({
        vote_signed: true,
        sig_b64: toBase64(fromHex(cast.value.signature)),
        level: quorums.get(roundId)?.level ?? 'SOFT',
      })
    }),

    finality.handledBy(async ({ round_id: roundId }) => {
      const round = quorums.get(roundId)
      if (round === undefined) return fail(createUnknownRoundFault(roundId))
      return createRuntimeOutcome(finalityOf(round, approvals.get(roundId)?.state ?? 'expired', drawFor(round)))
    }),

    gossip.handledBy(async ({ since, peers: wanted }) => {
      const unknownPeer = wanted?.find((each) => peers()?.isPeer(each) !== true)
      if (unknownPeer !== undefined) return fail(createRuntimeArgumentFault('peers', `there is no node ${unknownPeer}`))
      const exchange = await peers()?.gossip({ since, peers: wanted })
      const { sent, received, conflicts } = exchange ?? { sent: 0, received: 0, conflicts: 0 }
      return createRuntimeOutcome({ events_sent: sent, events_received: received, conflicts })
    }),
  ]
}

function finalityOf(round: QuorumRoundRecord, state: string, draw: Json): Json {
  const keys = new Map(round.voters.map(({ voter, key }) => [voter, key]))
  return {
    round_id: round.id,
    level: round.level,
    votes: round.votes.map(({ voter, decision, body, signature, seq }) => ({
      voter,
      key_hex: keys.get(voter) ?? '',
      vote: decision === 'allow' ? 'yes' : 'no',
      body,
      sig_b64: toBase64(fromHex(signature)),
      log_index: seq,
    })),
    evidence: {
      digest: round.digest,
      need: round.need,
      voters: [...keys.keys()],
      state,
      quorum_index: round.quorumSeq ?? null,
      draw,
      conflicts: round.conflicts.map(({ voter, votes }) => ({
        voter,
        votes: votes.map(({ body, signature }) => ({ body, sig_b64: toBase64(fromHex(signature)) })),
      })),
    },
  }
}
