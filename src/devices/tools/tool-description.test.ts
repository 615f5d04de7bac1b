import { describe, expect, it } from 'vitest'
import { formatToolDescription, createToolNameRewriter } from './tool-description.ts'

describe('the description of a device tool', () => {
  it('names the device, and replaces the names of other tools with their capability names', () => {
    const rename = createToolNameRewriter(
      new Map([
        ['self.lamp.on', 'device.den.self.lamp.on'],
        ['self.lamp.on_for', 'device.den.self.lamp.on_for'],
      ]),
    )
    const description = 'Like self.lamp.on_for, but see self.lamp.on. Not myself.lamp.on nor self.lamp.only.'
    expect(formatToolDescription({ slug: 'den', name: 'Den "x"', description, rename, online: true })).toBe(
      String.raw`On the device "Den \"x\"" (den). The device says: Like device.den.self.lamp.on_for, but see device.den.self.lamp.on. Not myself.lamp.on nor self.lamp.only.`,
    )
    expect(formatToolDescription({ slug: 'den', name: '', description: '\u200B', rename, online: false })).toBe(
      'On the device "den" (den). Offline now. The device does not describe it.',
    )
  })

  it('is cut after 1,024 characters, with an ellipsis', () => {
    const format = (description: string) =>
      formatToolDescription({ slug: 'den', name: '', description, rename: (text) => text, online: true }).slice(44)
    expect(format('long '.repeat(1_000))).toBe(`${'long '.repeat(205).slice(0, 1_023)}…`)
    expect(format(`padded${' '.repeat(8_000)}and told`)).toBe('padded …')
  })
})
