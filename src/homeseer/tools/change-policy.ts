/**
 * Change policy: the owner's configuration for changes of HomeSeer, and every reason why one change is refused.
 *
 *   1 dry run, asked for or by default ▸ 2 mode, confirm, intent, reason (not when dry)
 *   ▸ 3 device, event and camera lists ▸ 4 scripts ▸ 5 plug-in functions
 *   ▸ 6 users, plug-ins, interfaces, categories ▸ 7 the gates of administration
 *
 * All reasons are collected, in this order, so that a caller can correct everything at once. Whether a call is an
 * administration call follows from the tool, never from an argument.
 */
import type { HomeseerConfig } from '../../config/homeseer.ts'
import type { ConfirmationArgumentCompleter } from '../../bus/capability.ts'
import type { PolicyReason } from '../../core/fault.ts'
import {
  createExactAllowList,
  createCaseInsensitiveAllowList,
  createNumberAllowList,
  type AllowListPredicate,
} from './allow-list.ts'
import { toAllowListedCallName } from './script-or-plugin-call.ts'

/** Spec 4, Admin Guard: the second word of `hs4.admin.<domain>.*`. */
export const ADMIN_DOMAINS = ['users', 'plugins', 'interfaces', 'system', 'cameras', 'events', 'config'] as const
/** Spec 4, Admin Guard: a caller's claim about the risk of a call. */
export const ADMIN_DECLARED_RISK_LEVELS = ['low', 'medium', 'high'] as const
export type AdminDomain = (typeof ADMIN_DOMAINS)[number]

/** The configuration with its lists as predicates; `undefined` stands for a list that the owner did not write. */
export interface HomeseerChangePolicy {
  readonly readOnly: boolean
  readonly requireConfirm: boolean
  readonly defaultDryRun: boolean
  readonly devices: AllowListPredicate<number> | undefined
  readonly events: AllowListPredicate<number> | undefined
  readonly cameras: AllowListPredicate<number> | undefined
  readonly scripts: AllowListPredicate<string> | undefined
  readonly pluginFunctions: AllowListPredicate<string> | undefined
  readonly admin: AdminRules
}

interface AdminRules {
  readonly enabled: boolean
  readonly domains: ReadonlySet<AdminDomain>
  readonly window: string | undefined
  readonly windows: AllowListPredicate<string> | undefined
  readonly requireTicket: boolean
  readonly users: AllowListPredicate<string> | undefined
  readonly plugins: AllowListPredicate<string> | undefined
  readonly interfaces: AllowListPredicate<string> | undefined
  readonly categories: AllowListPredicate<string> | undefined
}

/** The contract's least length of `intent` and `reason`. */
export const MIN_INTENT_OR_REASON_LENGTH = 3

/** What a caller claims about its own call. */
export interface ChangeJustificationArguments {
  readonly confirm?: boolean
  readonly intent?: string
  readonly reason?: string
  readonly dryRun?: boolean
  readonly maintenanceWindowId?: string
  readonly changeTicket?: string
}

/** The targets of a call, resolved to ids, because lists contain ids. */
export interface TouchedTargets {
  readonly refs?: readonly number[]
  /** `undefined` stands for an event without an id, which is on no list. */
  readonly eventIds?: readonly (number | undefined)[]
  /** The consequences are not completely known: the call might change any device. */
  readonly mayTouchAnything?: boolean
  readonly cameraIds?: readonly number[]
  readonly scriptId?: string
  readonly pluginFunction?: string
  readonly userIds?: readonly string[]
  readonly pluginIds?: readonly string[]
  readonly interfaceIds?: readonly string[]
  readonly categoryIds?: readonly string[]
  /** Set for `hs4.admin.*`, and for nothing else. */
  readonly domain?: AdminDomain
}

export function readHomeseerChangePolicy(config: HomeseerConfig): HomeseerChangePolicy {
  const { allow, admin } = config
  return {
    readOnly: config.safeMode === 'read_only',
    requireConfirm: config.requireConfirm,
    defaultDryRun: config.defaultDryRun,
    devices: createNumberAllowList(allow.devices),
    events: createNumberAllowList(allow.events),
    cameras: createNumberAllowList(allow.cameras),
    scripts: createCaseInsensitiveAllowList(allow.scripts?.map(toAllowListedCallName)),
    pluginFunctions: createCaseInsensitiveAllowList(allow.pluginFunctions?.map(toAllowListedCallName)),
    admin: {
      enabled: admin.enabled,
      domains: new Set(ADMIN_DOMAINS.filter((domain) => admin[domain])),
      window: admin.maintenanceWindowId,
      windows: createExactAllowList(admin.allowedMaintenanceWindowIds),
      requireTicket: admin.requireChangeTicket,
      users: createCaseInsensitiveAllowList(admin.allowedUserIds),
      plugins: createCaseInsensitiveAllowList(admin.allowedPluginIds),
      interfaces: createCaseInsensitiveAllowList(admin.allowedInterfaceIds),
      categories: createCaseInsensitiveAllowList(admin.allowedCategoryIds),
    },
  }
}

/** An argument cannot switch off the owner's default: `dryRun: false` has no effect. */
export function isDryRunCall(rules: HomeseerChangePolicy, claims: ChangeJustificationArguments): boolean {
  return rules.defaultDryRun || claims.dryRun === true
}

/** Without reasons, the owner's rules do not refuse the call; the guard has further rules. */
export function listHomeseerPolicyRefusals(
  rules: HomeseerChangePolicy,
  claims: ChangeJustificationArguments,
  touched: TouchedTargets,
): readonly PolicyReason[] {
  return [
    ...(isDryRunCall(rules, claims) ? [] : claimReasons(rules, claims)),
    ...listReasons(rules, touched),
    ...(touched.domain === undefined ? [] : adminReasons(rules.admin, claims, touched.domain)),
  ]
}

/** `read_only` comes first, because then no other correction would help. */
function claimReasons(
  rules: HomeseerChangePolicy,
  { confirm, intent, reason }: ChangeJustificationArguments,
): readonly PolicyReason[] {
  const reasons: PolicyReason[] = []
  if (rules.readOnly) reasons.push({ rule: 'safe-mode', message: 'HomeSeer is set to read_only here.' })
  if (rules.requireConfirm && confirm !== true)
    reasons.push({
      rule: 'confirm',
      message: 'confirm must be true for a change.',
      // A caller that sends false has not left the argument out.
      ...(confirm === undefined ? { argument: 'confirm' } : {}),
    })
  if (!saysSomething(intent))
    reasons.push({ rule: 'intent', message: 'intent must say what is to be done.', argument: 'intent' })
  if (!saysSomething(reason)) reasons.push({ rule: 'reason', message: 'reason must say why.', argument: 'reason' })
  return reasons
}

/** Fills in missing claims of the base guard. The texts are true for a caller that gave none. */
export function createDefaultConfirmationCompleter(title: string): ConfirmationArgumentCompleter {
  return ({ confirm, intent, reason, dryRun }) => ({
    ...(confirm !== undefined || dryRun === true ? {} : { confirm: true }),
    ...(isClaim(intent) || (intent === undefined && dryRun === true) ? {} : { intent: title }),
    ...(isClaim(reason) || (reason === undefined && dryRun === true) ? {} : { reason: NO_REASON }),
  })
}

const NO_REASON = 'The caller gave no reason.'

function isClaim(text: unknown): boolean {
  return typeof text === 'string' && text.length >= MIN_INTENT_OR_REASON_LENGTH && saysSomething(text)
}

/** A text of blanks of any script, or of invisible characters, counts as empty. */
function saysSomething(text: string | undefined): boolean {
  return /[\p{L}\p{N}]/u.test(text ?? '')
}

function listReasons(rules: HomeseerChangePolicy, touched: TouchedTargets): readonly PolicyReason[] {
  const { admin } = rules
  return [
    ...outside(rules.devices, touched.refs, 'device-list', 'device'),
    ...unsure(rules, touched),
    ...outside(rules.events, touched.eventIds, 'event-list', 'event'),
    ...outside(rules.cameras, touched.cameraIds, 'camera-list', 'camera'),
    ...outside(rules.scripts, one(touched.scriptId), 'script-list', 'script'),
    ...outside(rules.pluginFunctions, one(touched.pluginFunction), 'plugin-function-list', 'plug-in function'),
    ...outside(admin.users, touched.userIds, 'user-list', 'user'),
    ...outside(admin.plugins, touched.pluginIds, 'plugin-list', 'plug-in'),
    ...outside(admin.interfaces, touched.interfaceIds, 'interface-list', 'interface'),
    ...outside(admin.categories, touched.categoryIds, 'category-list', 'category'),
  ]
}

/** Something whose effect is unknown must not pass a list of devices. */
function unsure(
  { devices }: HomeseerChangePolicy,
  { mayTouchAnything = false }: TouchedTargets,
): readonly PolicyReason[] {
  if (devices === undefined || !mayTouchAnything) return []
  const message = "It cannot be ruled out that this changes a device that is not on the owner's list."
  return [{ rule: 'device-list', message }]
}

/** A target without an id cannot be on a list, and is refused wherever there is one. */
function outside<Item extends string | number>(
  allows: AllowListPredicate<Item> | undefined,
  items: readonly (Item | undefined)[] | undefined,
  rule: string,
  noun: string,
): readonly PolicyReason[] {
  if (allows === undefined || items === undefined) return []
  return items
    .filter((item) => item === undefined || !allows(item))
    .map((item) => ({ rule, message: `The ${noun} ${item ?? 'without an id'} is not on the owner's list.` }))
}

function one(item: string | undefined): readonly string[] | undefined {
  return item === undefined ? undefined : [item]
}

function adminReasons(
  admin: AdminRules,
  claims: ChangeJustificationArguments,
  domain: AdminDomain,
): readonly PolicyReason[] {
  const { maintenanceWindowId: window = '', changeTicket = '' } = claims
  const reasons: PolicyReason[] = []
  if (!admin.enabled)
    reasons.push({
      rule: 'admin-enabled',
      message: 'Administration is switched off (homeseer.admin.enabled, or HS4_ADMIN_ENABLED).',
    })
  if (!admin.domains.has(domain))
    reasons.push({
      rule: 'admin-domain',
      message: `Administration of ${domain} is switched off (homeseer.admin.${domain}, or HS4_ADMIN_${domain.toUpperCase()}_ENABLED).`,
    })
  // Also for a dry run: a plan is made for a window (spec 4, Admin Guard).
  if (!saysSomething(window))
    reasons.push({ rule: 'maintenance-window', message: 'maintenanceWindowId must name a maintenance window.' })
  else {
    if (admin.window !== undefined && window !== admin.window)
      reasons.push({ rule: 'maintenance-window', message: 'This maintenance window is not the one that is open.' })
    if (admin.windows?.(window) === false)
      reasons.push({ rule: 'maintenance-window-list', message: "This maintenance window is not on the owner's list." })
  }
  if (admin.requireTicket && !saysSomething(changeTicket))
    reasons.push({ rule: 'change-ticket', message: 'changeTicket must name a ticket.' })
  return reasons
}
