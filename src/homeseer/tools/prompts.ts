/**
 * Prompts: the seven prompts of the contract. MCP passes prompt arguments as text, so numbers and booleans are parsed
 * here, and invalid ones are refused with a reason.
 */
import { z } from 'zod'
import type { Capability, PromptArgument } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import { AGENT_CONTRACT_DOCUMENT } from './agent-contract.ts'
import { createHomeseerOutcome, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import { HELP_STEP_MODES } from './help-route-steps.ts'
import { ADMIN_DOMAINS, ADMIN_DECLARED_RISK_LEVELS } from './change-policy.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

const words = z.string().min(1).max(1_000)
const maybe = z.string().max(1_000).exactOptional()
const ACTIONS = ['install', 'update', 'remove', 'set_enabled', 'restart'] as const

/** `yes`, `TRUE`, `1` and a boolean all mean the same; any other value is an error. */
function truth(otherwise: boolean) {
  const text = z
    .union([z.boolean(), z.string().regex(/^(1|0|true|false|yes|no|on|off)$/i, 'true or false')])
    .default(otherwise)
  return text.transform((value) => (typeof value === 'boolean' ? value : /^(1|true|yes|on)$/i.test(value)))
}

/** One ref, or several separated by commas. */
const refs = z
  .union([z.number(), z.string().regex(/^\s*(\d{1,9}\s*(,\s*\d{1,9}\s*)*)?$/, 'numbers with commas between them')])
  .default('')
  .transform((value) => String(value).match(/\d+/g) ?? [])

/** `shape` parses what a client sends; `arguments` is what the client is shown, required only without a default. */
interface Prompt<Shape extends z.ZodRawShape> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly shape: Shape
  readonly arguments: readonly PromptArgument[]
  readonly text: (input: z.output<z.ZodObject<Shape>>) => string
}

export function createHomeseerPrompts(): readonly Capability[] {
  return [
    prompt({
      name: 'hs4_safe_control',
      title: 'Control a device safely',
      description: 'Plan, show, confirm, act, verify.',
      shape: { objective: words, targetRefs: refs, preferDryRun: truth(true) },
      arguments: [
        needed('objective', 'What is to happen.'),
        optional('targetRefs', 'Refs of devices, with commas between them.'),
        optional('preferDryRun', 'true (default) or false.', ['true', 'false']),
      ],
      text: ({ objective, targetRefs, preferDryRun }) =>
        lines(
          `Goal: ${objective}`,
          targetRefs.length === 0
            ? 'Find the device with hs4.resolve.devices; go on only if its verdict is `act`, otherwise ask.'
            : `The devices are ${targetRefs.join(', ')}; look at them with hs4.devices.get (includeControls: true).`,
          preferDryRun
            ? 'Prepare the change with hs4.change.prepare, show it, and commit it, with confirm, intent and reason, only after the person agrees.'
            : 'Call hs4.devices.set with confirm, intent and reason.',
          'Report what `verification` says, not what you expected.',
        ),
    }),
    prompt({
      name: 'hs4_scene_operator',
      title: 'Run a scene',
      description: 'Find the event that brings a scene about, and run it once.',
      shape: { sceneGoal: words, eventGroupHint: maybe },
      arguments: [
        needed('sceneGoal', 'What the scene should be.'),
        optional('eventGroupHint', 'Part of a group’s name.'),
      ],
      text: ({ sceneGoal, eventGroupHint }) =>
        lines(
          `Scene: ${sceneGoal}`,
          `Look for an event with hs4.resolve.events${eventGroupHint === undefined ? '' : ` (groupHint: ${eventGroupHint})`}; show what it does with hs4.events.definition.get.`,
          'Stage it with hs4.intent.scene_activate (execute: false, with confirm, intent and reason, which its token keeps) and show the selection before you commit.',
        ),
    }),
    prompt({
      name: 'hs4_diagnostics',
      title: 'Find out what is wrong',
      description: 'Read-only diagnosis.',
      shape: { symptom: words, suspectedRef: refs },
      arguments: [
        needed('symptom', 'What was noticed.'),
        optional('suspectedRef', 'Ref of a device that may be at fault.'),
      ],
      text: ({ symptom, suspectedRef }) =>
        lines(
          `Symptom: ${symptom}`,
          'Run hs4.selftest.run and hs4.health.get.',
          ...suspectedRef.map(
            (ref) => `Look at device ${ref} with hs4.devices.status.get (refs: [${ref}], fresh: true).`,
          ),
          'Look at hs4.audit.query (result: error). Change nothing; say what you found and what you do not know.',
        ),
    }),
    prompt({
      name: 'hs4_agent_contract',
      title: 'Rules for agents',
      description: 'How to work with these tools safely.',
      shape: { objective: maybe, mode: z.enum(HELP_STEP_MODES).default('dry_run') },
      arguments: [
        optional('objective', 'What is to happen.'),
        optional('mode', HELP_STEP_MODES.join(', '), HELP_STEP_MODES),
      ],
      text: ({ objective, mode }) =>
        lines(
          ...(objective === undefined ? [] : [`Goal: ${objective}`]),
          `Mode: ${mode}`,
          ...AGENT_CONTRACT_DOCUMENT.rules.map((rule, index) => `${index + 1}. ${rule}`),
        ),
    }),
    prompt({
      name: 'hs4_admin_change_control',
      title: 'Administer under change control',
      description: 'One act of administration, with ticket and window.',
      shape: {
        objective: words,
        domain: z.enum(ADMIN_DOMAINS),
        maintenanceWindowId: maybe,
        changeTicket: maybe,
        riskLevel: z.enum(ADMIN_DECLARED_RISK_LEVELS).default('medium'),
        dryRun: truth(true),
      },
      arguments: [
        needed('objective', 'What is to happen.'),
        needed('domain', ADMIN_DOMAINS.join(', '), ADMIN_DOMAINS),
        ...CHANGE_CONTROL,
        riskLevel,
        optional('dryRun', 'true (default) or false.', ['true', 'false']),
      ],
      text: (input) =>
        lines(
          `Goal: ${input.objective} (${input.domain}, risk ${input.riskLevel})`,
          ticket(input),
          'Read hs4://admin/policy/state and check that the gates and the execution mode are what you expect.',
          input.dryRun
            ? `Call the hs4.admin.${input.domain}.* tool with dryRun: true and show the plan. Do not go further.`
            : `Call the hs4.admin.${input.domain}.* tool with confirm, intent and reason; report before, after and rollback.`,
        ),
    }),
    prompt({
      name: 'hs4_admin_backup_restore',
      title: 'Back up or restore',
      description: 'A backup, or going back to one.',
      shape: { objective: words, backupId: maybe, maintenanceWindowId: maybe, changeTicket: maybe },
      arguments: [
        needed('objective', 'What is to happen.'),
        optional('backupId', 'The backup to go back to.'),
        ...CHANGE_CONTROL,
      ],
      text: (input) =>
        lines(
          `Goal: ${input.objective}`,
          ticket(input),
          input.backupId === undefined
            ? 'Make a backup with hs4.admin.system.backup.start; plan it first with dryRun: true.'
            : `Check backup ${input.backupId} with hs4.admin.system.restore.start (verifyOnly: true), then make a new backup, then ask before restoring.`,
        ),
    }),
    prompt({
      name: 'hs4_admin_plugin_lifecycle',
      title: 'Manage a plug-in',
      description: 'Install, update, remove, switch or restart a plug-in.',
      shape: {
        pluginId: words,
        lifecycleAction: z.enum(ACTIONS),
        maintenanceWindowId: maybe,
        changeTicket: maybe,
        riskLevel: z.enum(ADMIN_DECLARED_RISK_LEVELS).default('medium'),
      },
      arguments: [
        needed('pluginId', 'The plug-in.'),
        needed('lifecycleAction', ACTIONS.join(', '), ACTIONS),
        ...CHANGE_CONTROL,
        riskLevel,
      ],
      text: (input) =>
        lines(
          `Goal: ${input.lifecycleAction} ${input.pluginId} (risk ${input.riskLevel})`,
          ticket(input),
          'Look at hs4.admin.plugins.catalog.get first.',
          `Plan with hs4.admin.plugins.${input.lifecycleAction} (pluginId: ${input.pluginId}, dryRun: true), show it, and ask before doing it.`,
        ),
    }),
  ]
}

function prompt<Shape extends z.ZodRawShape>(definition: Prompt<Shape>): Capability {
  const { name, title, description, shape, text } = definition
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name,
    title,
    description,
    face: { kind: 'prompt', arguments: definition.arguments },
    // The output type of a shape that is a type parameter is not known here; `text` gets it with its type.
    input: createTolerantInputSchema(shape) as unknown as z.ZodType<Record<string, never>, unknown>,
    output: z.looseObject({ messages: z.array(z.looseObject({})) }),
  }).handledBy(async (input) => {
    const message = text(input as unknown as z.output<z.ZodObject<Shape>>)
    return createHomeseerOutcome({
      description,
      messages: [{ role: 'user', content: { type: 'text', text: message } }],
    })
  })
}

function needed(name: string, description: string, choices?: readonly string[]): PromptArgument {
  return { name, description, required: true, ...completion(choices) }
}

function optional(name: string, description: string, choices?: readonly string[]): PromptArgument {
  return { name, description, required: false, ...completion(choices) }
}

/** The values that MCP's `completion/complete` offers. */
function completion(choices: readonly string[] | undefined): Pick<PromptArgument, 'complete'> {
  if (choices === undefined) return {}
  return { complete: (typed) => choices.filter((choice) => choice.startsWith(typed)) }
}

const CHANGE_CONTROL: readonly PromptArgument[] = [
  optional('maintenanceWindowId', 'The maintenance window.'),
  optional('changeTicket', 'The change ticket.'),
]
const riskLevel = optional('riskLevel', ADMIN_DECLARED_RISK_LEVELS.join(', '), ADMIN_DECLARED_RISK_LEVELS)

function ticket(input: { readonly maintenanceWindowId?: string; readonly changeTicket?: string }): string {
  const { maintenanceWindowId: window = 'ask for it', changeTicket: number = 'ask for it' } = input
  return `Maintenance window: ${window}. Change ticket: ${number}.`
}

function lines(...all: readonly string[]): string {
  return all.join('\n')
}
