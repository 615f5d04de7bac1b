/**
 * Device roster: which devices belong to the house, and which of their tools are on the bus at the moment.
 *
 *   enrolled? ▸ slug ▸ listing against pins ▸ available: offered · changed or new: withheld ▸ registered, deregistered
 *
 * A device is synchronised with the bus after each of its events, one synchronisation at a time; an event during one
 * causes another. No tool is offered before its pin is on the disk.
 *
 * After a power cut, or when the access point returns, all devices have to be synchronised at the same moment. Each
 * gets a turn of the event loop to itself, so that other work waits for one device at most. A call that comes before
 * its device's turn checks the device itself (device-tool-caller.ts).
 *
 * Pure, given its fleet, its store and its bus, apart from waiting its turn.
 */
import type { Capability, Effect } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { matchesAnyPattern } from '../../guard/name-pattern.ts'
import type { EnrolledDevice, DeviceEnrolmentService } from '../enrol/enrolment.ts'
import type { FleetDevice, DeviceFleet } from '../session/fleet.ts'
import { parseDeviceId } from '../wire/device-id.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import type { WithheldDeviceTool } from './tool-pins.ts'
import { computeToolDefinitionHash, compareToolsWithPins, computeWithheldToolsDigest } from './tool-pins.ts'
import { DeviceCapabilityCache } from './capability-cache.ts'
import { createDeviceCapability } from './device-capability.ts'
import type { DeviceToolCaller } from './device-tool-caller.ts'
import type { ToolPinStore } from './tool-pin-store.ts'
import { chooseSlugBase } from './device-slug.ts'
import type { ToolEffectRules } from './tool-effect.ts'
import { classifyToolEffect } from './tool-effect.ts'
import { createToolNameRewriter } from './tool-description.ts'
import { assignCapabilityNames } from './tool-capability-names.ts'
import type { UrlRule } from './url-rule.ts'
import { WithheldToolEntryThrottle } from './withheld-tool-entry-throttle.ts'

export interface DeviceRosterRules {
  readonly effects: ToolEffectRules
  readonly urls: readonly UrlRule[]
  /** User-only tools that agents may see and request as well. */
  readonly userToolsForAgents: readonly string[]
  readonly offlineTools: 'listed' | 'unlisted' | 'hidden'
}

export interface DeviceRosterBus {
  readonly registerCapability: (
    capability: Capability,
    owner: { readonly name: string; readonly prefixes: readonly string[] },
  ) => Result<void, Fault>
  readonly deregister: (name: string, version: readonly [number, number]) => void
}

export interface DeviceRosterDependencies {
  readonly fleet: Pick<DeviceFleet, 'device'>
  readonly registrar: Pick<DeviceEnrolmentService, 'device' | 'devices'>
  readonly store: ToolPinStore
  readonly calls: DeviceToolCaller
  readonly bus: DeviceRosterBus
  readonly rules: DeviceRosterRules
  readonly monotonic: () => number
  readonly report: (error: unknown, message: string) => void
}

export interface RosterTool {
  readonly capability: string
  readonly tool: DeviceTool
  readonly effect: Effect
  readonly forPeople: boolean
}

export interface RosterDevice {
  readonly slug: string
  readonly enrolled: EnrolledDevice
  readonly tools: readonly RosterTool[]
  readonly withheld: readonly WithheldDeviceTool[]
  /** Why parts of its listing cannot be offered. */
  readonly problems: readonly string[]
}

interface Offered {
  readonly definition: string
  readonly online: boolean
  readonly name: string
}

const OWNER = { name: 'devices', prefixes: ['device'], isPerItem: true }
const VERSION = [1, 0] as const

export class DeviceRoster {
  readonly #parts: DeviceRosterDependencies
  readonly #devices = new Map<string, RosterDevice>()
  readonly #bySlug = new Map<string, string>()
  /** Device → capability → the listed tool that it was made from. */
  readonly #offered = new Map<string, Map<string, Offered>>()
  readonly #made = new DeviceCapabilityCache()
  readonly #withheldLog = new WithheldToolEntryThrottle()
  readonly #looking = new Map<string, { again: boolean; done: Promise<void> }>()
  #turn = Promise.resolve()

  constructor(parts: DeviceRosterDependencies) {
    this.#parts = parts
  }

  devices(): readonly RosterDevice[] {
    return [...this.#devices.values()]
  }

  /** Finds a device by slug, by MAC address, or by the name that people gave it, if only one device has that name. */
  find(name: string): RosterDevice | undefined {
    return this.#devices.get(this.#bySlug.get(name) ?? parseDeviceId(name) ?? '') ?? this.#named(name)
  }

  #named(name: string): RosterDevice | undefined {
    const wanted = name.trim().toLowerCase()
    const named = this.devices().filter(({ enrolled }) => enrolled.name.trim().toLowerCase() === wanted)
    return named.length === 1 ? named[0] : undefined
  }

  async syncAll(): Promise<void> {
    const ids = new Set([...this.#devices.keys(), ...this.#parts.registrar.devices().map(({ deviceId }) => deviceId)])
    for (const id of ids) await this.sync(id)
  }

  /** Resolves when the bus shows the present state of this device. */
  sync(deviceId: string): Promise<void> {
    const running = this.#looking.get(deviceId)
    if (running !== undefined) {
      running.again = true
      return running.done
    }
    const look = { again: false, done: Promise.resolve() }
    this.#looking.set(deviceId, look)
    look.done = this.#lookUntilCalm(deviceId, look)
    return look.done
  }

  /** Approves the tools that were shown, and nothing that was listed later. */
  async approve(device: RosterDevice, digest: string, by: string): Promise<Result<readonly string[], Fault>> {
    const { slug, enrolled, withheld } = device
    if (computeWithheldToolsDigest(withheld) !== digest) return fail(otherDigest(device))
    await this.#parts.store.approve(enrolled, slug, { withheld, by })
    this.#withheldLog.forget(enrolled.deviceId)
    await this.sync(enrolled.deviceId)
    return ok(withheld.map(({ tool }) => tool.name))
  }

  /** Removes all device tools from the bus. */
  close(): void {
    for (const deviceId of this.#devices.keys()) this.#remove(deviceId)
  }

  async #lookUntilCalm(deviceId: string, look: { again: boolean }): Promise<void> {
    do {
      // The tools of a revoked device are removed at once.
      if (this.#parts.registrar.device(deviceId)?.state === 'approved') await this.#ownTurn()
      look.again = false
      try {
        await this.#look(deviceId)
      } catch (error) {
        // Tools that cannot be pinned are not offered. The next event of the device tries again, also one that came
        // meanwhile.
        this.#withdraw(deviceId, new Map())
        this.#parts.report(error, `the tools of ${deviceId} could not be recorded and are not offered`)
      }
    } while (look.again)
    this.#looking.delete(deviceId)
    this.#parts.calls.poke(deviceId)
  }

  #ownTurn(): Promise<void> {
    const turn = this.#turn
    this.#turn = turn.then(() => new Promise((resolve) => void setImmediate(resolve)))
    return turn
  }

  async #look(deviceId: string): Promise<void> {
    const { registrar, store, fleet } = this.#parts
    const enrolled = registrar.device(deviceId)
    if (enrolled?.state !== 'approved') {
      this.#remove(deviceId)
      this.#parts.calls.dismiss(deviceId)
      return
    }
    const tools = fleet.device(deviceId)?.tools ?? []
    let label = store.label(enrolled)
    const slug = label?.slug ?? (await store.name(enrolled, chooseSlugBase([enrolled.name, enrolled.board])))
    if (label?.pins === undefined && tools.length > 0) {
      await store.pinAll(enrolled, slug, tools)
      label = store.label(enrolled)
    }
    const { available, withheld } = compareToolsWithPins(tools, label?.pins ?? new Map())
    if (tools.length > 0) await this.#note(enrolled, slug, { withheld, recorded: label?.withheld })
    this.#show({ slug, enrolled, withheld }, available, fleet.device(deviceId))
  }

  /** A tool is withheld at once, whether or not that is on record yet. */
  async #note(
    enrolled: EnrolledDevice,
    slug: string,
    { withheld, recorded }: { readonly withheld: readonly WithheldDeviceTool[]; readonly recorded: string | undefined },
  ): Promise<void> {
    const { store, monotonic } = this.#parts
    const { deviceId } = enrolled
    const digest = computeWithheldToolsDigest(withheld)
    this.#withheldLog.see(deviceId, digest, recorded)
    if (digest === recorded) return
    if (digest === undefined) {
      await store.releaseAll(enrolled)
      return
    }
    const changes = this.#withheldLog.due(deviceId, monotonic())
    if (changes === undefined) return
    await store.withhold(enrolled, slug, { withheld, digest, changes })
    this.#withheldLog.wrote(deviceId, monotonic())
  }

  #show(
    facts: Pick<RosterDevice, 'slug' | 'enrolled' | 'withheld'>,
    available: readonly DeviceTool[],
    view: FleetDevice | undefined,
  ): void {
    const { slug, enrolled } = facts
    const { deviceId, name } = enrolled
    const { rules, calls } = this.#parts
    const { named, collided } = assignCapabilityNames(slug, available)
    const problems = collided.map((tool) => `${tool.name}: another tool of the device has this name on the bus`)
    const rename = createToolNameRewriter(new Map(named.map(({ capability, tool }) => [tool.name, capability])))
    const online = view?.online ?? false
    const made = this.#made.of(deviceId, { name, online, named })
    const offers = new Map<string, Offered & { readonly capability: Capability }>()
    const tools: RosterTool[] = []
    for (const { capability, tool } of named) {
      const effect = classifyToolEffect(tool, rules.effects)
      const forPeople = tool.userOnly && !matchesAnyPattern(rules.userToolsForAgents, tool.name)
      const offered = made(capability, () =>
        createDeviceCapability({
          slug,
          deviceId,
          name,
          capability,
          tool,
          effect,
          forPeople,
          rename,
          online,
          listed: online || rules.offlineTools === 'listed',
          urls: rules.urls,
          timeoutSeconds: calls.timeoutSeconds(tool.name),
          unreachable: () => calls.unreachable(deviceId, slug),
          call: (call) => calls.call(call, { deviceId, slug, tool, effect }),
        }),
      )
      if (offered === undefined) problems.push(`${tool.name}: its arguments have names that cannot be shown`)
      else {
        tools.push({ capability, tool, effect, forPeople })
        offers.set(capability, { definition: computeToolDefinitionHash(tool), online, name, capability: offered })
      }
    }
    this.#devices.set(deviceId, { ...facts, tools, problems })
    this.#bySlug.set(slug, deviceId)
    const shown: typeof offers = online || rules.offlineTools !== 'hidden' ? offers : new Map()
    this.#withdraw(deviceId, shown)
    this.#register(deviceId, shown)
  }

  /** Removes capabilities whose tool is gone, or has changed under the same name. */
  #withdraw(deviceId: string, offers: ReadonlyMap<string, Offered>): void {
    const offered = this.#offered.get(deviceId)
    for (const [name, { definition }] of offered ?? []) {
      if (offers.get(name)?.definition === definition) continue
      this.#parts.bus.deregister(name, VERSION)
      offered?.delete(name)
    }
  }

  #register(deviceId: string, offers: ReadonlyMap<string, Offered & { readonly capability: Capability }>): void {
    const offered = this.#offered.get(deviceId) ?? new Map<string, Offered>()
    this.#offered.set(deviceId, offered)
    for (const [capabilityName, { definition, online, name, capability }] of offers) {
      const before = offered.get(capabilityName)
      if (before?.definition === definition && before.online === online && before.name === name) continue
      const registered = this.#parts.bus.registerCapability(capability, OWNER)
      if (registered.ok) offered.set(capabilityName, { definition, online, name })
      else this.#parts.report(registered.fault, `${capabilityName} cannot be offered`)
    }
  }

  #remove(deviceId: string): void {
    this.#withdraw(deviceId, new Map())
    this.#withheldLog.forget(deviceId)
    this.#made.forget(deviceId)
    this.#offered.delete(deviceId)
    const known = this.#devices.get(deviceId)
    if (known !== undefined) this.#bySlug.delete(known.slug)
    this.#devices.delete(deviceId)
  }
}

function otherDigest({ slug, withheld }: RosterDevice): Fault {
  const message =
    withheld.length === 0
      ? `Nothing of ${slug} is withheld.`
      : `The tools of ${slug} have changed since they were shown. Look again: hearthbus devices show ${slug}.`
  return { kind: 'conflict', message }
}
