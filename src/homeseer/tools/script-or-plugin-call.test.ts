import { describe, expect, it } from 'vitest'
import {
  formatRedactedCallTarget,
  isScriptOrPluginCallListed,
  normalisePluginFunctionCall,
  parseScriptCall,
} from './script-or-plugin-call.ts'

describe('script or plug-in call', () => {
  it.each([
    ['evening.vb', 'evening.vb'],
    [' Evening.VB ', 'evening.vb'],
    ['"evening.vb"', 'evening.vb'],
    ['evening.vb()', 'evening.vb'],
    ['evening.vb("Main", 1)', 'evening.vb("Main",1)'],
    ['evening.vb("a, b",-2.5,true)', 'evening.vb("a, b",-2.5,true)'],
  ])('is read from %s as %s', (command, whole) => {
    expect(parseScriptCall(command)?.whole).toBe(whole)
  })

  it.each([
    'evening.vb(1);&hs.SetDeviceValueByRef(141,0,true)',
    'evening.vb(1):hs.SetDeviceValueByRef(141,0,true)',
    'evening.vb & hs.Shutdown(0)',
    'evening.vb(hs.SetDeviceValueByRef(141,0,true))',
    'evening.vb("a" & hs.Shutdown(0))',
    'evening.vb("a\\"",hs.Shutdown(0),"")',
    'evening.vb("a""" & hs.Shutdown(0) & "")',
    'evening.vb(1,)',
    'evening.vb(1)\nhs.Shutdown(0)',
    'evening.vb\nhs.Shutdown(0)',
    'evening.vb(1) evening.vb(2)',
    '&hs.WriteLog("evening.vb","x")',
    "hs.Shutdown(0) ' evening.vb",
    '../other/evening.vb',
    '',
  ])('is not read from code: %j', (command) => {
    expect(parseScriptCall(command)).toBeUndefined()
  })

  it('with other arguments is not covered by an allow list entry', () => {
    const call = parseScriptCall('evening.vb("Main",1)')
    if (call === undefined) throw new Error('no call')
    expect(isScriptOrPluginCallListed(call, ['evening.vb'])).toBe(false)
    expect(isScriptOrPluginCallListed(call, ['Evening.vb("Main", 1)'])).toBe(true)
    expect(isScriptOrPluginCallListed(call, ['evening.vb("Main",2)'])).toBe(false)
    expect(isScriptOrPluginCallListed(normalisePluginFunctionCall('hue:refresh', []), ['Hue:Refresh'])).toBe(true)
    expect(isScriptOrPluginCallListed(normalisePluginFunctionCall('hue:scene', ['a', 1]), ['hue:scene("a",1)'])).toBe(
      true,
    )
  })

  it('shows arguments in its target only if the allow list contains them', () => {
    const call = parseScriptCall('door.vb("open",4711)')
    if (call === undefined) throw new Error('no call')
    expect(formatRedactedCallTarget(call, undefined)).toBe('door.vb(…)')
    expect(formatRedactedCallTarget(call, ['door.vb("open",4711)'])).toBe('door.vb("open",4711)')
  })
})
