/**
 * Schema: the configuration file, key by key. All defaults are here; the key table in `docs/running.md` is generated
 * from it.
 */
import { z } from 'zod'
import { DEVICE_TARGET_FORMAT_HINT, DEVICE_TARGET_PATTERN } from '../core/device-target-pattern.ts'
import { accessPointsConfigSchema } from './access-points.ts'
import { devicesConfigSchema } from './devices.ts'
import { ebusConfigSchema } from './ebus.ts'
import { homeseerConfigSchema } from './homeseer.ts'
import { meshConfigSchema } from './mesh.ts'
import { modelsConfigSchema } from './models.ts'
import { notifyConfigSchema } from './notify.ts'

const effect = z.enum(['reads', 'records', 'writes', 'sensitive', 'admin'])

/** A star elsewhere would match nothing, and a rule that matches nothing looks as if it forbade something. */
const namePattern = z.string().regex(/^(?:[^*]+\*?|\*)$/, 'a name; `*` may only stand at its end')

const targetPattern = z.string().regex(DEVICE_TARGET_PATTERN, DEVICE_TARGET_FORMAT_HINT)

const ownerRule = z
  .strictObject({
    tool: namePattern.exactOptional().describe('A tool name; `*` at its end stands for anything.'),
    target: targetPattern
      .exactOptional()
      .describe(
        'A device by its id, such as `homeseer:ref:141`; approvals show it. `*` at its end stands for anything.',
      ),
    arguments: z
      .record(z.string().min(1), z.union([namePattern, z.number(), z.boolean()]))
      .exactOptional()
      .describe('Arguments by name, wherever they stand; `*` at the end of a text stands for anything.'),
    says: z
      .enum(['trust', 'ask', 'quorum', 'forbid'])
      .describe(
        '`trust`: no approval needed; `ask`: every change needs one; `quorum`: it needs the yes of several; `forbid`: never.',
      ),
    voters: z
      .array(z.string().min(1).max(128))
      .min(1)
      .max(64)
      .exactOptional()
      .describe('With `quorum`: names of tokens of approvers, or `node:` and the name of a node of the community.'),
    need: z
      .int()
      .min(1)
      .exactOptional()
      .describe('With `quorum`: yeses that it takes; two thirds and one unless told.'),
    veto: z.boolean().exactOptional().describe('With `quorum`: one no is a no.'),
  })
  .refine(({ tool, target }) => tool !== undefined || target !== undefined, 'a rule names a tool or a target')
  .refine(
    ({ tool = '*', target = '*', says }) => says !== 'trust' || tool !== '*' || target !== '*',
    'a rule that trusts everything would leave nothing to approve',
  )
  .refine(
    ({ says, voters, need, veto }) =>
      says === 'quorum' ? voters !== undefined : voters === undefined && need === undefined && veto === undefined,
    'a rule that says quorum names its voters, and no other rule does',
  )
  .refine(({ need, voters }) => need === undefined || need <= (voters?.length ?? 0), 'more yeses than voters')
  .refine(({ voters = [] }) => new Set(voters).size === voters.length, 'a voter is named twice')
  .refine(
    // A voter is a token's name or a node: a person without a credential of their own could be anybody at this machine.
    ({ voters = [] }) =>
      voters.every((each) => /^(?:node:.+|(?!(?:local|owner|console(?:-\w+)?)$)[a-z0-9][a-z0-9._-]{0,63})$/.test(each)),
    'a voter is a person with a token of their own (hearthbus token create NAME --role approver) or node:NAME; owner, local and console are shared by whoever is at this machine',
  )

/** The ledger's name is derived from it once and then stays: see `ledger.origin`. */
const nodeSection = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{0,62}$/, 'lower-case letters, digits, dots and dashes, at most 63')
      .default('home')
      .describe('What this node is called, to people and to its peers.'),
  })
  .prefault({})

const listenSection = z
  .strictObject({
    host: z.string().min(1).default('127.0.0.1').describe('Address of the listener for agents and people.'),
    port: z.int().min(0).max(65_535).default(7420).describe('Port of that listener; 0 takes a free one.'),
    // Only programs on this machine can be anonymous; from anywhere else a token is required.
    anonymous: z
      .enum(['agent', 'observer', 'off'])
      .default('agent')
      .describe('Role of a local program that shows no token; `off` demands a token of everybody.'),
    tokenHash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'SHA-256 in hex')
      .exactOptional()
      .describe(
        'SHA-256 of a token that was made elsewhere, with which agents come in beside those of `hearthbus token create`.',
      ),
    allowedHosts: z
      .array(z.string())
      .default([])
      .describe('Further names under which the listener may be addressed (the Host header).'),
    allowedOrigins: z.array(z.string()).default([]).describe('Web origins, beside its own, that may talk to it.'),
    maxBodyBytes: z.int().min(1_024).default(4_194_304).describe('Largest request body that is read.'),
    maxSessions: z.int().min(1).default(256).describe('MCP sessions of 2025-era clients kept at once.'),
  })
  .prefault({})

const consoleSection = z
  .strictObject({
    idleSeconds: z
      .int()
      .min(2)
      .default(43_200)
      .describe('A session at the console ends after this long without activity.'),
    lifeSeconds: z.int().min(2).default(604_800).describe('A session at the console ends after this long in any case.'),
  })
  .prefault({})

const busSection = z
  .strictObject({
    preferLocal: z.boolean().default(true).describe('Choose a local provider while it is not too busy.'),
    localLoadThreshold: z.number().min(0).max(1).default(0.8).describe('How busy it may be for that, 0 to 1.'),
    freshnessSeconds: z
      .int()
      .min(1)
      .default(60)
      .describe('A peer that was not heard from for this long is not chosen.'),
    // The formula of spec 2 § 5.4 is greedy: it sends all callers to the fastest provider at once.
    strategy: z
      .enum(['peak-ewma', 'spec'])
      .default('peak-ewma')
      .describe('How a provider is chosen: two candidates by measured cost, or the specification’s greedy score.'),
    hedge: z
      .boolean()
      .default(false)
      .describe(
        'Ask a second provider when a call that may happen twice takes unusually long, and take the first answer.',
      ),
  })
  .prefault({})

const guardSection = z
  .strictObject({
    approvalMinutes: z.int().min(1).max(1_440).default(15).describe('How long a request for approval stays open.'),
    disputeHours: z
      .number()
      .min(0)
      .max(8_760)
      .default(24)
      .describe('How long a decision of several can be disputed before it is final for good (ABSOLUTE).'),
    maxPendingApprovals: z.int().min(1).default(64).describe('Requests open at once, for all callers.'),
    maxPendingPerPrincipal: z.int().min(1).default(8).describe('Requests open at once for one caller.'),
    callsPerMinute: z.int().min(1).default(6_000).describe('Calls of one caller in a minute, of any kind.'),
    writesPerMinute: z.int().min(1).default(120).describe('Changes by one caller in a minute.'),
    // Relays and valves wear out; a model in a loop must not be able to wear one out in a night.
    actuatorIntervalMs: z.int().min(0).default(250).describe('Rest between two changes of one device.'),
    actuatorWaitMs: z
      .int()
      .min(0)
      .default(5_000)
      .describe('How long a change waits for that rest before it is refused.'),
    actuatorWritesPerDay: z.int().min(1).default(2_000).describe('Changes of one device in a day.'),
    askBelowReputation: z
      .int()
      .min(0)
      .max(10_000)
      .default(0)
      .describe(
        'Ask a person about every change of a caller whose reputation is below this, 0 to 10000; 5000 is neutral. 0: off.',
      ),
    idempotencyHours: z.int().min(1).default(24).describe('How long the outcome of an idempotency key is kept.'),
    rules: z
      .array(ownerRule)
      .default([])
      .describe('What the owner decided beforehand. The strictest rule that applies wins.'),
  })
  .prefault({})

const ledgerSection = z
  .strictObject({
    origin: z
      .string()
      .regex(/^[^\s+\p{Cc}]{1,128}$/u, 'a name without spaces or plus signs, such as example.com/house')
      .optional()
      .describe(
        'Name of the log in its checkpoints; if absent, the one that it has, made from the node name at the first start.',
      ),
    // Entries that no checkpoint covers yet could be rewritten by somebody with access to the disk. This interval
    // limits how many there are.
    checkpointSeconds: z
      .int()
      .min(1)
      .max(604_800)
      .default(60)
      .describe('A new checkpoint is signed at least this often.'),
    pins: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Folder outside of the data directory, best on another disk, where the newest signed state of the log is kept, so that an older or another log is noticed; if absent, `hearthbus/pins` in `$XDG_STATE_HOME` or `~/.local/state`.',
      ),
    witnesses: z
      .array(
        z.strictObject({
          vkey: z.string().describe('The witness’s public key, as it prints it.'),
          url: z.url().describe('Where it takes checkpoints.'),
        }),
      )
      .default([])
      .describe('Witnesses that cosign our checkpoints.'),
  })
  .prefault({})

const profilesSection = z
  .record(
    z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'lower-case letters, digits and dashes')
      .refine(
        (name) => name !== 'all' && name !== 'read' && name !== 'voice',
        '`all`, `read` and `voice` are built in and mean what they mean',
      ),
    z.strictObject({
      include: z.array(namePattern).default(['*']).describe('Tool names; `*` at the end stands for anything.'),
      exclude: z.array(namePattern).default([]).describe('Taken out again.'),
      effects: z.array(effect).exactOptional().describe('Only tools of these effects.'),
    }),
  )
  .default({})
  .describe('Named subsets of the tools, served at /mcp/<name>.')

/** Strict at every level: a misspelt key would have no effect although the owner relies on it. */
export const configSchema = z.strictObject({
  mode: z.enum(['full', 'readonly']).default('full').describe('`readonly` refuses every change, whoever asks.'),
  logLevel: z.enum(['silent', 'error', 'warn', 'info', 'debug']).default('info').describe('What goes to stderr.'),
  node: nodeSection,
  listen: listenSection,
  console: consoleSection,
  bus: busSection,
  guard: guardSection,
  notify: notifyConfigSchema,
  ledger: ledgerSection,
  skills: z
    .strictObject({
      roots: z.array(z.string()).default([]).describe('Folders whose sub-folders hold a SKILL.md each.'),
    })
    .prefault({}),
  profiles: profilesSection,
  aliases: z
    .record(z.string().min(1).max(120), z.array(z.string().min(1).max(60)).max(10))
    .default({})
    .describe(
      'What people call a thing beside its own name, by its handle: `"hs:120": ["Leselampe"]`. `home_find` tells handles. Only the author of this file can set names that hold for everybody.',
    ),
  rooms: z
    .record(z.string().min(1).max(60), z.array(z.string().min(1).max(60)).max(20))
    .default({})
    .describe('Rooms by the name you use, each with what else it is called: `{Lounge: [Wohnzimmer, Zone 1]}`.'),
  ebus: ebusConfigSchema,
  homeseer: homeseerConfigSchema,
  devices: devicesConfigSchema,
  accessPoints: accessPointsConfigSchema,
  mesh: meshConfigSchema,
  models: modelsConfigSchema,
})

export type Config = z.output<typeof configSchema>
