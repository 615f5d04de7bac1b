/**
 * HomeSeer section. Each key of the contract has its `HS4_*` variable, which overrides it (homeseer-environment.ts).
 */
import { z } from 'zod'

/** A number, or two with a dash between them. */
const idRange = z.union([
  z.int().min(0),
  z
    .string()
    .regex(/^\d{1,12}(\s*-\s*\d{1,12})?$/, 'a number such as 101, or a range such as 100-110')
    // A reversed range contains nothing, although its author thinks that it does.
    .refine((range) => isForwards(range), 'a range has the smaller number first, such as 100-110'),
])

function isForwards(range: string): boolean {
  const [from = 0, to = from] = range.split('-').map(Number)
  return from <= to
}

/** Absent: no restriction. An empty list allows nothing. */
const idList = z.array(idRange).exactOptional()
const nameList = z.array(z.string().min(1).max(200)).exactOptional()

const path = z.string().min(1).max(1_000)

/** Names are compared without regard to case (homeseer/tools/allow-list.ts). */
const allowSection = z
  .strictObject({
    devices: idList.describe('Refs that may be changed, also as ranges (`100-110`); absent: all.'),
    events: idList.describe('Ids of events that may be run; absent: all.'),
    cameras: idList.describe('Cameras that may be moved; absent: all.'),
    scripts: nameList.describe('Scripts that may be run, by name, or as one call with its arguments; absent: all.'),
    pluginFunctions: nameList.describe(
      'Plug-in functions that may be called, as `plugin:function`; absent: all. That very call asks nobody; with parameters it is written `plugin:function("a",1)`.',
    ),
  })
  .prefault({})

/** All are off by default: spec 4 requires one switch for administration and one more per domain. */
const adminSection = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Whether `hs4.admin.*` may change anything.'),
    users: z.boolean().default(false).describe('Whether it may change users.'),
    plugins: z.boolean().default(false).describe('Whether it may change plug-ins.'),
    interfaces: z.boolean().default(false).describe('Whether it may change interfaces.'),
    system: z.boolean().default(false).describe('Whether it may back up, restore, restart and set up HomeSeer.'),
    cameras: z.boolean().default(false).describe('Whether it may change the configuration of cameras.'),
    events: z.boolean().default(false).describe('Whether it may change events.'),
    config: z.boolean().default(false).describe('Whether it may change names, places and categories of devices.'),
    // Callers must repeat this text exactly: case matters.
    maintenanceWindowId: z.string().min(1).exactOptional().describe('The one maintenance window that is open.'),
    allowedMaintenanceWindowIds: nameList.describe('Maintenance windows that may be named; absent: any.'),
    requireChangeTicket: z.boolean().default(true).describe('Whether a change needs a ticket.'),
    rollback: z.boolean().default(true).describe('Whether changes are offered for rollback.'),
    executionMode: z
      .enum(['adapter', 'direct', 'auto'])
      .default('adapter')
      .describe('`adapter`: by the script on HomeSeer; `direct`: by HomeSeer’s own requests; `auto`: what works.'),
    adapterKey: z
      .string()
      .min(32)
      .max(200)
      .exactOptional()
      .describe('Secret that the admin adapter shares; requests without its signature are refused there.'),
    directFallback: z.boolean().default(true).describe('In mode `direct`: try the adapter where HomeSeer cannot.'),
    capabilityCacheSeconds: z
      .int()
      .min(0)
      .max(86_400)
      .default(300)
      .describe('How long the gateway remembers what HomeSeer cannot do.'),
    allowedUserIds: nameList.describe('Users that may be changed; absent: all.'),
    allowedPluginIds: nameList.describe('Plug-ins that may be changed; absent: all.'),
    allowedInterfaceIds: nameList.describe('Interfaces that may be changed; absent: all.'),
    allowedCategoryIds: nameList.describe('Categories that may be changed; absent: all.'),
  })
  .prefault({})

const pushSection = z
  .strictObject({
    asciiPort: z
      .int()
      .min(1)
      .max(65_535)
      .exactOptional()
      .describe('HomeSeer’s ASCII port (usually 11000), which pushes changes; absent: everything is polled.'),
    // HomeSeer cannot sign its requests; a secret in the URL is the only protection.
    webhookKey: z
      .string()
      .min(16)
      .exactOptional()
      .describe('Secret in the address that HomeSeer’s web hook posts to; absent: no web hook is heard.'),
    webhookHost: z.string().default('0.0.0.0').describe('Where the web hook listens.'),
    webhookPort: z.int().min(0).max(65_535).default(7_423).describe('Port of that listener.'),
    pollSeconds: z
      .int()
      .min(1)
      .max(604_800)
      .default(15)
      .describe('How often everything is read while nothing is pushed.'),
    resyncSeconds: z
      .int()
      .min(5)
      .max(604_800)
      .default(300)
      .describe('How often everything is read while changes are pushed.'),
  })
  .prefault({})

/** The kinds of devices; the first five need a person's approval. */
export const HOMESEER_DEVICE_KINDS = [
  'lock',
  'door',
  'alarm',
  'house_mode',
  'main_valve',
  'valve',
  'blind',
  'light',
  'thermostat',
  'heater',
  'fan',
  'outlet',
  'switch',
  'media',
  'text',
  'sensor',
  'group',
  'other',
] as const

export const homeseerConfigSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('Address of HomeSeer’s web server, e.g. http://192.168.1.5; absent switches the family off.'),
    user: z.string().exactOptional().describe('Who logs in; absent where HomeSeer asks nothing of its own subnet.'),
    password: z.string().exactOptional().describe('With what.'),
    authentication: z
      .enum(['basic', 'query'])
      .default('basic')
      .describe('Where the login goes: into a header, or into the address, where it ends up in HomeSeer’s log.'),
    timeoutMs: z.int().min(500).max(120_000).default(10_000).describe('For one request.'),
    readRetries: z.int().min(0).max(10).default(2).describe('How many times a failed read is retried.'),
    readRetryBackoffMs: z.int().min(10).max(10_000).default(200).describe('Pause before the first retry.'),
    statusIncludeEverything: z
      .boolean()
      .default(false)
      .describe('Whether `hs4.devices.status.get` asks for control pairs unless told.'),
    maxDevices: z.int().min(1).max(20_000).default(250).describe('Most devices in one answer.'),
    statusCacheMs: z.int().min(0).max(60_000).default(1_500).describe('How old a state may be that is answered.'),
    scriptPage: path.default('/runscript.html').describe('HomeSeer’s page that runs scripts.'),
    eventsPath: path
      .default('/usr/local/HomeSeer/Data/HomeSeerData_2.json/events.json')
      .describe('HomeSeer’s file of events, where it can be read from here.'),
    eventGroupsPath: path
      .default('/usr/local/HomeSeer/Data/HomeSeerData_2.json/eventgroups.json')
      .describe('HomeSeer’s file of event groups.'),
    eventsFrom: z
      .enum(['files', 'adapter'])
      .default('files')
      .describe(
        'Whether the definitions of events are read from these files, or asked of the admin adapter on HomeSeer.',
      ),
    knownEventMembers: z
      .array(z.string().min(1).max(200))
      .default([])
      .describe('Members of records in these files that do nothing; an event with others asks a person.'),
    eventsMaxAgeHours: z
      .number()
      .positive()
      .exactOptional()
      .describe('For a copy of these files: one that is older than this is not used.'),
    unreadEvents: z
      .enum(['ask', 'trust'])
      .default('ask')
      .describe(
        'While these files cannot be read: `ask` a person before any change, because it may set off an event; `trust` that no event does harm when a device is set.',
      ),
    expose: z
      .enum(['all', 'voice', 'list'])
      .default('all')
      .describe(
        'Which devices exist for agents: `all`; those with a voice command or discovered by a voice assistant (`voice`); those of `exposeDevices` (`list`).',
      ),
    exposeDevices: idList.describe('With `expose: list`: refs, also as ranges.'),
    classes: z
      .record(z.string().regex(/^\d{1,12}$/, 'the ref of a device'), z.enum(HOMESEER_DEVICE_KINDS))
      .default({})
      .describe(
        'What a device is, where it was recognised wrongly: `{"185": "heater"}`. Kinds: see `hearthbus homeseer classify`.',
      ),
    safeMode: z
      .enum(['read_write', 'read_only'])
      .default('read_write')
      .describe('`read_only` refuses every change of HomeSeer.'),
    requireConfirm: z.boolean().default(true).describe('Whether a change needs `confirm: true`.'),
    defaultDryRun: z.boolean().default(false).describe('Whether every change is only planned.'),
    verifyAttempts: z.int().min(1).max(40).default(4).describe('How many times the state is read after a change.'),
    verifyIntervalMs: z.int().min(10).max(10_000).default(250).describe('Pause between two of these reads.'),
    verifyWaitSeconds: z
      .int()
      .min(1)
      .max(50)
      .default(25)
      .describe(
        'Longest that a call waits for a device that takes its time, such as a blind; later it is `still_moving`.',
      ),
    changeTokenSeconds: z
      .int()
      .min(30)
      .max(86_400)
      .default(900)
      .describe('How long a prepared change can be committed.'),
    changeTokenEntries: z
      .int()
      .min(100)
      .max(200_000)
      .default(2_000)
      .describe('Prepared changes kept at once; one caller can have an eighth of them, then its oldest go.'),
    aliasFile: path.exactOptional().describe('JSON file of further names: `{"device:101": ["reading lamp"]}`.'),
    learnAliases: z.boolean().default(true).describe('Whether names that people confirmed are remembered.'),
    push: pushSection,
    allow: allowSection,
    admin: adminSection,
  })
  .prefault({})

export type HomeseerConfig = z.output<typeof homeseerConfigSchema>
