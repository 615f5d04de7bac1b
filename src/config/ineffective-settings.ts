/**
 * Ineffective settings: settings that have no effect, because what they belong to is switched off or not configured.
 */
import { canonicalJson } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { configSchema } from './schema.ts'
import type { Config } from './schema.ts'

/** Sections with a switch: when it is off, the other settings of the section are ignored. */
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

/** `isFolder` checks the disk. A value that equals the default may never have been written, and is not reported. */
export function listIneffectiveSettings(config: Config, isFolder: (path: string) => boolean): readonly string[] {
  // Parsed once without compiling: compiling the parsers would take longer.
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
      .map((root) => `skills.roots: ${root} is not a folder, so no skill is read from it`),
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
