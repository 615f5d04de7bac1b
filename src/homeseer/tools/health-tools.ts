/**
 * Health tools: whether HomeSeer can be reached and what is allowed; and a self-test that sends real requests.
 *
 * Reads through the link.
 */
import { z } from 'zod'
import { toCallerKey } from '../../bus/caller.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import { createControlsRequest, createVersionRequest } from '../wire/json-requests.ts'
import { isWorthSmallerRequest, type HomeseerLinkFault } from '../wire/link-fault.ts'
import type { Result } from '../../core/result.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { createHomeseerOutcome, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import { createHomeseerReadFault } from './faults.ts'
import { describeHomeseerPolicy } from './policy-description.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

type Check = JsonObject & { readonly check: string; readonly status: 'pass' | 'warn' | 'fail' }

export function createHealthTools(homeseer: HomeseerToolContext): readonly Capability[] {
  return [
    defineTool({
      ...HOMESEER_READ_DEFAULTS,
      name: 'hs4.health.get',
      title: 'HomeSeer health',
      description:
        'Whether HomeSeer answers, its version, how its state reaches us, and what is switched on for changing it.',
      input: createTolerantInputSchema({}),
      output: z.looseObject({
        hs4Version: z.string(),
        hs4BaseUrl: z.string(),
        safeMode: z.string(),
        admin: z.looseObject({ enabled: z.boolean() }),
        checkedAt: z.string().nullable(),
      }),
    }).handledBy(async (_input, call) => {
      const version = await homeseer.link.json.call(createVersionRequest(), call.signal)
      if (!version.ok) return fail(createHomeseerReadFault(version.fault, 'asking for the version'))
      const deviceCatalog = await homeseer.catalog.devices()
      const push = homeseer.link.pushState()
      const { safeMode, defaultDryRun, requireConfirm, adminExecution, admin } = describeHomeseerPolicy(homeseer)
      return createHomeseerOutcome({
        hs4Version: version.value,
        // Without user and password: they are settings of their own and never part of the address.
        hs4BaseUrl: homeseer.config.url ?? '',
        safeMode: safeMode ?? null,
        requireConfirm: requireConfirm ?? null,
        defaultDryRun: defaultDryRun ?? null,
        admin: { ...(admin as JsonObject), execution: adminExecution ?? null },
        transport: call.channel,
        devicesDiscovered: deviceCatalog.ok ? deviceCatalog.value.devices.length : null,
        push: push === undefined ? 'off' : push.up ? 'up' : push.reason,
        checkedAt: formatIsoTimeOrNull(homeseer.clock.now()),
      })
    }),

    defineTool({
      ...HOMESEER_READ_DEFAULTS,
      name: 'hs4.selftest.run',
      title: 'Self-test',
      description:
        'Asks HomeSeer for everything once and looks into our own stores. Changes nothing and runs no code on HomeSeer.',
      input: createTolerantInputSchema({ includeResolverRefresh: z.boolean().default(true) }),
      output: z.looseObject({
        status: z.enum(['pass', 'warn', 'fail']),
        failCount: z.int(),
        warnCount: z.int(),
        checks: z.array(z.looseObject({ check: z.string(), status: z.enum(['pass', 'warn', 'fail']) })),
      }),
      timeoutSeconds: 120,
    }).handledBy(async ({ includeResolverRefresh }, call) => {
      // One after the other, because a HomeSeer with problems is not helped by five requests at once.
      const checks = [
        ...(await linkChecks(homeseer)),
        tokenCheck(homeseer, toCallerKey(call.caller)),
        ...(await fileChecks(homeseer)),
        ...(includeResolverRefresh ? [await nameCheck(homeseer)] : []),
      ]
      const count = (status: Check['status']): number => checks.filter((check) => check.status === status).length
      const [failCount, warnCount] = [count('fail'), count('warn')]
      return createHomeseerOutcome({
        status: failCount > 0 ? 'fail' : warnCount > 0 ? 'warn' : 'pass',
        failCount,
        warnCount,
        checks,
        checkedAt: formatIsoTimeOrNull(homeseer.clock.now()),
      })
    }),
  ]
}

async function linkChecks({ link, catalog }: HomeseerToolContext): Promise<readonly Check[]> {
  const version = await link.json.call(createVersionRequest())
  // The self-test must not answer from the cache.
  catalog.forget()
  const refreshed = await link.mirror.refresh()
  const controls = await link.json.call(createControlsRequest())
  const events = await catalog.events()
  const cameras = await catalog.cameras()
  const push = link.pushState()
  return [
    checkOf('hs4_version', version, 'fail', (value) => ({ version: value })),
    checkOf('devices_read', refreshed, 'fail', () => ({ devices: link.mirror.entries.size })),
    // Without controls, capabilities and sensitivity are unknown. If one request is too large, they are read in parts,
    // which is slower but not a failure.
    checkOf('controls_read', controls, isTooMuch(controls) ? 'warn' : 'fail', (value) => ({ devices: value.size })),
    checkOf('events_read', events, 'fail', (value) => ({ events: value.length })),
    // A house without cameras is not a failure.
    checkOf('cameras_read', cameras, 'warn', (value) => ({ cameras: value.length })),
    push?.up === true
      ? { check: 'push', status: 'pass', push: 'up' }
      : { check: 'push', status: 'warn', push: push === undefined ? 'off' : push.reason },
  ]
}

function isTooMuch(result: Result<unknown, HomeseerLinkFault>): boolean {
  return !result.ok && isWorthSmallerRequest(result.fault)
}

function checkOf<Value>(
  check: string,
  result: Result<Value, HomeseerLinkFault>,
  otherwise: 'warn' | 'fail',
  show: (value: Value) => JsonObject,
): Check {
  if (result.ok) return { check, status: 'pass', ...show(result.value) }
  const { code = 'UNKNOWN', message } = createHomeseerReadFault(result.fault, check)
  return { check, status: otherwise, code, message }
}

/** A token that does not exist is not found, which shows that the store can be read. */
function tokenCheck({ guard }: HomeseerToolContext, principal: string): Check {
  const peeked = guard.changes.peek(`chg_${'A'.repeat(43)}`, principal)
  const sound = !peeked.ok && peeked.fault.kind === 'not-found'
  return { check: 'change_token_store', status: sound ? 'pass' : 'fail' }
}

async function fileChecks({ eventFiles, config }: HomeseerToolContext): Promise<readonly Check[]> {
  const files = await eventFiles.read()
  const check = 'event_definitions'
  if (files.ok) return [{ check, status: 'pass', events: files.value.definitions.length }]
  return [{ check, status: 'warn', reason: files.fault.kind, path: config.eventsPath }]
}

/** If only some sources of names can be read, this is a warning: names from these are still right. */
async function nameCheck({ resolver }: HomeseerToolContext): Promise<Check> {
  const current = await resolver.current()
  if (!current.ok) return checkOf('alias_refresh', current, 'warn', () => ({}))
  const { resolver: names, warnings } = current.value
  return {
    check: 'alias_refresh',
    status: warnings.length === 0 ? 'pass' : 'warn',
    ...(warnings.length === 0 ? {} : { missing: warnings.map(({ source }) => source) }),
    aliases: names.deviceNames.aliases.length + names.eventNames.aliases.length + names.cameraNames.aliases.length,
  }
}
