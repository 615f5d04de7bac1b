import { describe, expect, it } from 'vitest'
import { formatConfigProblem, parseConfig, parseLedgerPinsKey } from './config-file.ts'

function problems(text: string): readonly string[] {
  const read = parseConfig('hearthbus.yaml', text)
  return read.ok ? [] : read.fault.map(formatConfigProblem)
}

describe('config file', () => {
  it('is valid when empty, with defaults for every key', () => {
    const read = parseConfig('hearthbus.yaml', '')
    expect(read).toMatchObject({ ok: true, value: { mode: 'full', listen: { host: '127.0.0.1', port: 7420 } } })
  })

  it('names file, line and key of a value that is wrong', () => {
    expect(problems('mode: full\nlisten:\n  host: 127.0.0.1\n  port: many\n')).toEqual([
      'hearthbus.yaml:4: listen.port: Invalid input: expected number, received string',
    ])
  })

  it('refuses an unknown key, and names the known ones', () => {
    expect(problems('bus:\n  preferLocal: true\n  prefer: x\n')).toEqual([
      'hearthbus.yaml:3: bus.prefer: no such key; known here: preferLocal, localLoadThreshold, freshnessSeconds, strategy, hedge',
    ])
  })

  it('refuses an unknown value of mode rather than guessing', () => {
    expect(problems('mode: read-only\n')).toEqual([
      'hearthbus.yaml:1: mode: Invalid option: expected one of "full"|"readonly"',
    ])
  })

  // A timer of more than 24 days rings a thousand times a second.
  it('refuses an interval that is longer than 604,800 seconds', () => {
    const never =
      'ledger: { checkpointSeconds: 3000000 }\nhomeseer: { push: { pollSeconds: 3000000, resyncSeconds: 3000000 } }\n'
    expect(problems(never)).toEqual([
      'hearthbus.yaml:1: ledger.checkpointSeconds: Too big: expected number to be <=604800',
      'hearthbus.yaml:2: homeseer.push.pollSeconds: Too big: expected number to be <=604800',
      'hearthbus.yaml:2: homeseer.push.resyncSeconds: Too big: expected number to be <=604800',
    ])
    expect(problems(never.replaceAll('3000000', '604800'))).toEqual([])
  })

  it('finds a wrong value inside a list', () => {
    expect(problems('ebus:\n  buses:\n    - adapter: "usb:1"\n')[0]).toContain(
      'hearthbus.yaml:3: ebus.buses.0.adapter: enh:host[:port]',
    )
  })

  it('reports broken YAML with its line', () => {
    expect(problems('mode: full\nlisten: {port: 1\n')[0]).toMatch(/^hearthbus\.yaml:[23]: /)
  })

  it('refuses a key given twice', () => {
    expect(problems('mode: full\nmode: readonly\n')[0]).toContain('hearthbus.yaml:2')
  })

  it('refuses a rule without tool or target, one that trusts every tool, and a `*` before the end', () => {
    expect(problems('guard:\n  rules:\n    - says: forbid\n')).toEqual([
      'hearthbus.yaml:3: guard.rules.0: a rule names a tool or a target',
    ])
    expect(problems('guard:\n  rules:\n    - { tool: "*", says: trust }\n')).toEqual([
      'hearthbus.yaml:3: guard.rules.0: a rule that trusts everything would leave nothing to approve',
    ])
    expect(problems('guard:\n  rules:\n    - { tool: "*.unlock", says: forbid }\n')).toEqual([
      'hearthbus.yaml:3: guard.rules.0.tool: a name; `*` may only stand at its end',
    ])
    expect(problems('guard:\n  rules:\n    - { target: "door:*", says: forbid }\n')).toEqual([])
  })

  // The guard knows devices by their ids, so this rule would forbid nothing.
  it.each(['Hall Lamp (Hall, Ground)', 'Lock', 'Hall*'])(
    'refuses a rule whose target is the device name %j instead of an id',
    (target) => {
      expect(problems(`guard:\n  rules:\n    - { target: "${target}", says: forbid }\n`)).toEqual([
        'hearthbus.yaml:3: guard.rules.0.target: the id of a device, such as homeseer:ref:141 or device:desk-lamp (hearthbus approvals shows it), not its name; `*` may only stand at its end',
      ])
    },
  )

  it.each(['homeseer:ref:141', 'homeseer:event:Evening/Good Night', 'device:desk-lamp', 'ebus:main:*', '*'])(
    'accepts a rule with the target %j',
    (target) => {
      expect(problems(`guard:\n  rules:\n    - { target: "${target}", says: forbid }\n`)).toEqual([])
    },
  )

  it('refuses a profile that would redefine a built-in one', () => {
    expect(problems('profiles:\n  mine: {}\n  read:\n    include: [task_list]\n')).toEqual([
      'hearthbus.yaml:4: profiles.read: `all`, `read` and `voice` are built in and mean what they mean',
    ])
  })

  it('refuses two listeners with the same host and port', () => {
    expect(problems('listen: { port: 7500 }\nmesh:\n  enabled: true\n  port: 7500\n')).toEqual([
      'hearthbus.yaml:4: mesh.port: listen.port is 7500 as well. Each listener needs a port of its own.',
    ])
    // Its port is the default: the line is that of what is set.
    expect(problems('listen: { port: 7421 }\ndevices: { enabled: true }\n').join()).toContain(
      'devices.port: listen.port is 7421 as well',
    )
    const meshOnOtherHost = 'mesh: { enabled: true, host: 192.168.1.2, port: 7500 }'
    expect(problems(`listen: { host: 127.0.0.1, port: 7500 }\n${meshOnOtherHost}\n`)).toEqual([])
    expect(problems(`listen: { host: 0.0.0.0, port: 7500 }\n${meshOnOtherHost}\n`)).toHaveLength(1)
    expect(problems('listen: { port: 7500 }\nmesh: { enabled: false, port: 7500 }\n')).toEqual([])
    expect(problems('listen: { port: 0 }\nmesh: { enabled: true, port: 0 }\n')).toEqual([])
    // UDP and TCP do not disturb each other.
    const mqtt = 'devices: { enabled: true, port: 7501, mqtt: { enabled: true, port: 7502, udpPort: 7500 } }'
    expect(problems(`listen: { port: 7500 }\n${mqtt}\n`)).toEqual([])
  })
})

describe('the folder of the pins alone', () => {
  it.each([
    ['ledger:\n  pins: /srv/pins\n', '/srv/pins'],
    ['{"ledger": {"pins": "/srv/pins"}}', '/srv/pins'],
    ['where: &here /srv/pins\nledger: { pins: *here }\n', '/srv/pins'],
    ['ledger: { pins: /srv/pins }\nlisten: { port: many }\nno-such-key: 1\n', '/srv/pins'],
    ['ledger: { pins: "" }', undefined],
    ['ledger: { pins: [a] }', undefined],
    ['ledger: { pins: *nowhere }', undefined],
    ['# pins', undefined],
    ['pins: /srv/pins', undefined],
  ])('of %j is %j', (text, folder) => {
    expect(parseLedgerPinsKey(text)).toBe(folder)
  })
})
