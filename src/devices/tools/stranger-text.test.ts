import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeTool, renameTools, visibleText } from './stranger-text.ts'

describe('a stranger’s text', () => {
  it('loses what cannot be seen', () => {
    const hidden = 'turn\u200Bs \u202Eon\u2066 the\u0007 lamp\u{E0041}\u{E0042}\uFE0F\u{E0101}\uE000\uD800'
    expect(visibleText(hidden, 100)).toBe('turns on the lamp')
    expect(visibleText('one\r\ntwo\u2028three\u3164\ttabs   end ', 100)).toBe('one two three tabs end')
  })

  it('keeps every script that people write in', () => {
    expect(visibleText('设置音量 · громкость · जल', 100)).toBe('设置音量 · громкость · जल')
  })

  it('is cut at whole characters', () => {
    expect(visibleText('😀😀😀😀', 3)).toBe('😀😀…')
  })

  it('is bounded and visible whatever it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const shown = visibleText(text, 50)
        expect(Array.from(shown).length).toBeLessThanOrEqual(50)
        expect(shown).not.toMatch(/[\p{C}]/u)
        expect(visibleText(shown, 50)).toBe(shown)
      }),
    )
  })

  it('says whose it is, and calls other tools by the names they have here', () => {
    const rename = renameTools(
      new Map([
        ['self.lamp.on', 'device.den.self.lamp.on'],
        ['self.lamp.on_for', 'device.den.self.lamp.on_for'],
      ]),
    )
    const description = 'Like self.lamp.on_for, but see self.lamp.on. Not myself.lamp.on nor self.lamp.only.'
    expect(describeTool({ slug: 'den', name: 'Den "x"', description, rename, online: true })).toBe(
      String.raw`On the device "Den \"x\"" (den). The device says: Like device.den.self.lamp.on_for, but see device.den.self.lamp.on. Not myself.lamp.on nor self.lamp.only.`,
    )
    expect(describeTool({ slug: 'den', name: '', description: '\u200B', rename, online: false })).toBe(
      'On the device "den" (den). Offline now. The device says nothing about it.',
    )
  })

  it('is read only as far as it may be shown, and says where it was cut', () => {
    const said = (description: string) =>
      describeTool({ slug: 'den', name: '', description, rename: (text) => text, online: true }).slice(44)
    expect(said('long '.repeat(1_000))).toBe(`${'long '.repeat(205).slice(0, 1_023)}…`)
    expect(said(`padded${' '.repeat(8_000)}and told`)).toBe('padded …')
  })
})
