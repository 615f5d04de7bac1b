/**
 * Idle settings: what was set and does nothing, because what it belongs to is switched off or has nothing to do.
 */
import { canonicalJson } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { configSchema } from './schema.ts'
import type { Config } from './schema.ts'

/** Sections with a switch: without it, nothing else that is in them is looked at. */
const SWITCHES: readonly {
  readonly section: 'ebus' | 'homeseer' | 'devices' | 'mesh'
  readonly key: string
  readonly isOn: (config: Config) => boolean
}[] = [
  { section: 'ebus', key: 'buses', isOn: ({ ebus }) => ebus.buses.length > 0 },
  { section: 'homeseer', key: 'url', isOn: ({ homeseer }) => homeseer.url !== undefined },
  { section: 'devices', key: 'enabled', isOn: ({ devices }) => devices.enabled },
  { section: 'mesh', key: 'enabled', isOn: ({ mesh }) => mesh.enabled },
]

/** `isFolder` looks at the disk. A value that is the default was perhaps never written, and is not named. */
export function listIdleSettings(config: Config, isFolder: (path: string) => boolean): readonly string[] {
  // Read once, as the file is: compiling parsers for it would take longer.
  const defaults = configSchema.parse({}, { jitless: true })
  return [
    ...SWITCHES.filter(({ isOn }) => !isOn(config)).flatMap(({ section, key }) =>
      idleKeys({ section, key, written: config[section] as Section, usual: defaults[section] as Section }),
    ),
    ...config.models.endpoints
      .filter(({ chat, embed }) => chat.length === 0 && embed.length === 0)
      .map(({ url }) => `models.endpoints: ${url} is given neither chat nor embed models, so it offers nothing`),
    ...config.skills.roots
      .filter((root) => !isFolder(root))
      .map((root) => `skills.roots: ${root} is no folder, so no skill is read from it`),
  ]
}

interface SwitchedOff {
  readonly section: string
  readonly key: string
  readonly written: Section
  readonly usual: Section
}

function idleKeys({ section, key, written, usual }: SwitchedOff): readonly string[] {
  const idle = Object.keys(written)
    .filter((name) => name !== key && text(written[name]) !== text(usual[name]))
    .map((name) => `${section}.${name}`)
  if (idle.length === 0) return []
  return [`${idle.join(', ')} ${idle.length === 1 ? 'does' : 'do'} nothing without ${section}.${key}`]
}

type Section = Readonly<Record<string, Json | undefined>>

function text(value: Json | undefined): string {
  return value === undefined ? '' : canonicalJson(value)
}
