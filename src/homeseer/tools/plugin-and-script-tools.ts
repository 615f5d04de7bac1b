/**
 * Plugin and script tools: scripts and plug-in functions. Both run somebody's code on HomeSeer, and code can do
 * anything.
 *
 * A script always needs a person's approval. So does a plug-in function, unless the owner has put that very call, with
 * its parameters, on the list: unlocking a door by way of the lock's plug-in is still unlocking a door.
 */
import { omitUndefined } from '../../core/json.ts'
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { findScriptError, createScriptRunRequest } from '../wire/script-and-backup-pages.ts'
import { createPluginFunctionRequest } from '../wire/json-requests.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { createHomeseerOutcome, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import {
  formatRedactedCallTarget,
  INLINE_CODE_CALL_NAME,
  isScriptOrPluginCallListed,
  normalisePluginFunctionCall,
  parseScriptCall,
} from './script-or-plugin-call.ts'
import { createHs4Fault, createHomeseerReadFault, createHomeseerWriteFault } from './faults.ts'
import { BASE_GUARD_ARGUMENT_SCHEMAS, defineHomeseerChange, createTolerantInputSchema } from './homeseer-change.ts'
import { listDeviceTargetsExcept } from './consequence-assessment-client.ts'
import { toTextOrEmpty } from './json-text.ts'

export function createPluginListTool(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.plugins.list',
    title: 'List plug-ins',
    description: 'Lists the plug-ins of HomeSeer, their versions and whether an update waits.',
    input: createTolerantInputSchema({}),
    output: z.looseObject({ plugins: z.array(z.looseObject({ id: z.string(), name: z.string() })) }),
  }).handledBy(async () => {
    const plugins = await homeseer.catalog.plugins()
    if (!plugins.ok) return fail(createHomeseerReadFault(plugins.fault, 'reading the plug-ins'))
    return createHomeseerOutcome({
      plugins: plugins.value.map(({ raw, ...plugin }) => ({ ...plugin, raw })),
      raw: plugins.value.map(({ raw }) => raw),
    })
  })
}

export function createScriptRunTool(homeseer: HomeseerToolContext): Capability {
  const listed = homeseer.config.allow
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.scripts.run',
    title: 'Run a script',
    description:
      'Runs a script or a script statement on HomeSeer. Code can do anything, so a person has to approve each run.',
    input: createTolerantInputSchema({ command: z.string().min(1).max(4_000), ...BASE_GUARD_ARGUMENT_SCHEMAS }),
    effect: 'sensitive',
    // Only the caller knows what its code prints: it may be a password that the code reads.
    secrets: ['raw'],
    // One at a time: what a script touches is unknown, so no two may run at once.
    lock: 'homeseer:scripts',
    plan: async ({ command }) => {
      const script = parseScriptCall(command)
      const isListed = script !== undefined && isScriptOrPluginCallListed(script, listed.scripts)
      const mayReach = await listDevicesWithinReach(homeseer, isListed)
      return mayReach.ok ? ok({ command, script, mayReach: mayReach.value }) : mayReach
    },
    assess: ({ command, script, mayReach }) => ({
      effect: 'sensitive',
      // The approver sees the whole command in the preview; this is its short name for limits, rules and the ledger.
      // Code that is more than one call has a common name, so that trust in one script does not extend to other code.
      target:
        script === undefined ? 'homeseer:code' : `homeseer:script:${formatRedactedCallTarget(script, listed.scripts)}`,
      label: script === undefined ? 'Code on HomeSeer' : `Script ${formatRedactedCallTarget(script, listed.scripts)}`,
      touched: { scriptId: script?.name ?? INLINE_CODE_CALL_NAME },
      mayReach,
      preview: { command },
    }),
    act: async ({ command }, _input, call) => {
      const { scriptPage } = homeseer.config
      const reply = await homeseer.link.json.call(createScriptRunRequest(command, scriptPage), call.signal)
      if (!reply.ok) return fail(createHomeseerWriteFault(reply.fault, 'running a script'))
      const error = findScriptError(reply.value)
      if (error !== undefined) return fail(createHs4Fault('HS4_ERROR', `HomeSeer ran no such script: ${error}`))
      const { responseArray, commands } = reply.value
      return createHomeseerOutcome({
        invoked: true,
        command,
        raw: { responseArray: [...responseArray], commands: commands.map((one) => ({ ...one })) },
      })
    },
  })
}

/**
 * Code may switch any device, so what the owner forbids for one of them is forbidden for the code. A call on the
 * owner's list is exempt, because the owner knows what it switches.
 */
async function listDevicesWithinReach(
  { catalog }: HomeseerToolContext,
  isListed: boolean,
): Promise<Result<readonly string[], Fault>> {
  if (isListed) return ok([])
  const deviceCatalog = await catalog.devices()
  return deviceCatalog.ok
    ? ok(listDeviceTargetsExcept(deviceCatalog.value, []))
    : fail(createHomeseerReadFault(deviceCatalog.fault, 'reading the devices'))
}

/** The types that HomeSeer's `pluginfunction` request can spell as P1, P2, … */
const parameter = z.union([z.string().max(2_000), z.number(), z.boolean()])

export function createPluginFunctionTool(homeseer: HomeseerToolContext): Capability {
  const { rules, config } = homeseer
  const { pluginFunctions: listed } = config.allow
  return defineHomeseerChange(rules, {
    name: 'hs4.plugins.function.call',
    title: 'Call a plug-in function',
    description:
      'Calls a function of a HomeSeer plug-in. Needs a person’s approval unless the owner has listed that very call.',
    input: createTolerantInputSchema({
      plugin: z.string().min(1).max(200),
      functionName: z.string().min(1).max(200),
      instance: z.string().max(200).exactOptional(),
      params: z.array(parameter).max(50).default([]),
      ...BASE_GUARD_ARGUMENT_SCHEMAS,
    }),
    effect: 'sensitive',
    // Includes positional arguments, which no record stores (guard/secret-detection.ts).
    secrets: ['raw'],
    lock: ({ plugin }) => `homeseer:plugin:${toTextOrEmpty(plugin).toLowerCase().slice(0, 200)}`,
    plan: async ({ plugin, functionName, params, instance }) => {
      const plugins = await homeseer.catalog.plugins()
      if (!plugins.ok) return fail(createHomeseerReadFault(plugins.fault, 'reading the plug-ins'))
      const found = plugins.value.find(
        ({ id, name }) => id.toLowerCase() === plugin.toLowerCase() || name.toLowerCase() === plugin.toLowerCase(),
      )
      // By its id: a call that the list forbids must not pass under the plug-in's other name.
      if (found !== undefined) {
        const exact = normalisePluginFunctionCall(`${found.id}:${functionName}`, params)
        // On the owner's list with exactly these parameters.
        const isListed = isScriptOrPluginCallListed(exact, listed) && instance === undefined
        const mayReach = await listDevicesWithinReach(homeseer, isListed)
        return mayReach.ok ? ok({ id: found.id, exact, isListed, mayReach: mayReach.value }) : mayReach
      }
      const details = { plugin, known: [...new Set(plugins.value.map(({ id }) => id))] }
      const next = [{ name: 'hs4.plugins.list' }]
      return fail(createHs4Fault('NOT_FOUND', `HomeSeer has no plug-in ${plugin}.`, { details, next }))
    },
    assess: ({ id, exact, isListed, mayReach }, { functionName, params, instance }) => ({
      effect: isListed ? 'writes' : 'sensitive',
      target: `homeseer:plugin:${formatRedactedCallTarget(exact, listed)}`,
      label: `${id} ${functionName}`,
      touched: { pluginFunction: exact.name },
      mayReach,
      preview: { plugin: id, functionName, params: [...params], ...omitUndefined({ instance }) },
    }),
    act: async ({ id }, { functionName, instance, params }, call) => {
      const exchange = createPluginFunctionRequest({ plugin: id, functionName, instance, parameters: params })
      const reply = await homeseer.link.json.call(exchange, call.signal)
      if (!reply.ok) return fail(createHomeseerWriteFault(reply.fault, `calling ${id}.${functionName}`))
      return createHomeseerOutcome({
        invoked: true,
        plugin: id,
        functionName,
        instance: instance ?? null,
        params: [...params],
        raw: reply.value,
      })
    },
  })
}
