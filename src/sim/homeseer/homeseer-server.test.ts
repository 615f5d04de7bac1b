import { connect } from 'node:net'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toHex } from '../../core/bytes.ts'
import { HARD_CASE_DEVICE_REFS } from './hard-case-devices.ts'
import { startHomeseerSimulator, type HomeseerSimulator } from './homeseer-server.ts'

let simulator: HomeseerSimulator

beforeEach(async () => {
  simulator = await startHomeseerSimulator({ host: '127.0.0.1', httpPort: 0, asciiPort: 0 })
})
afterEach(() => simulator.stop())

const LOGIN = `Basic ${Buffer.from('default:default').toString('base64')}`

function ask(path: string, init: RequestInit = {}, authorization = LOGIN) {
  return fetch(`http://127.0.0.1:${simulator.httpPort}${path}`, { ...init, headers: { Authorization: authorization } })
}

const text = async (path: string, init?: RequestInit) => (await ask(path, init)).text()
const json = async (path: string) => (await ask(path)).json() as Promise<Record<string, unknown>>
const devicesOf = (reply: Record<string, unknown>) => reply['Devices'] as readonly Record<string, unknown>[]

describe('simulated HomeSeer over HTTP', () => {
  it('answers version, with CR LF at the end', async () => {
    expect(await text('/JSON?request=hsversion')).toBe('{"Response":"4.2.22.4"}\r\n')
    expect(await text('/json?REQUEST=HsVersion&JSON=1&source=x')).toBe('{"Response":"4.2.22.4"}\r\n')
  })

  it('contains every hard-case device', async () => {
    const devices = new Map(devicesOf(await json('/JSON?request=getstatus')).map((device) => [device['ref'], device]))
    for (const ref of Object.values(HARD_CASE_DEVICE_REFS)) expect(devices.has(ref)).toBe(true)
    expect(devices.get(100)).toMatchObject({ name: 'Hall Lamp', status: 'No Status', associated_devices: [101] })
    expect(devices.get(101)).toMatchObject({ name: 'Hall Lamp', status: 'Dim 35%', associated_devices: [100] })
    expect(devices.get(164)).toMatchObject({ name: 'Battery', status: '87%' })
    expect(devices.get(141)).toMatchObject({ misc: 0x400, last_change: '/Date(-62135596800000)/' })
  })

  it('filters by location, but not when everything is requested', async () => {
    const inGarden = devicesOf(await json('/JSON?request=getstatus&location1=garden'))
    expect(inGarden.map((device) => device['ref'])).toEqual([111, 155])
    const everything = devicesOf(await json('/JSON?request=getstatus&location1=garden&everything=true'))
    expect(everything.length).toBeGreaterThan(20)
    expect(everything.find((device) => device['ref'] === 120)?.['ControlPairs']).toHaveLength(2)
  })

  it('answers an unknown ref with an empty list, and its control with error', async () => {
    expect(devicesOf(await json('/JSON?request=getstatus&ref=9999'))).toEqual([])
    expect(await text('/JSON?request=controldevicebyvalue&ref=9999&value=1')).toBe('error\r\n')
  })

  it('answers getcontrol in the shape for one device or for all', async () => {
    expect(await json('/JSON?request=getcontrol&ref=120')).toMatchObject({ ref: 120, ControlPairs: [{}, {}] })
    expect(devicesOf(await json('/JSON?request=getcontrol')).length).toBe(simulator.house.refs.length)
    expect(devicesOf(await json('/JSON?request=getcontrol2&ref=120'))).toHaveLength(1)
  })

  it('answers a control with the old state, and shows the new state later', async () => {
    const reply = await json('/JSON?request=controldevicebyvalue&ref=120&value=255')
    expect(devicesOf(reply)).toMatchObject([{ ref: 120, value: 0 }])
    expect(simulator.house.hardware(120)?.value).toBe(255)
    await expect.poll(async () => devicesOf(await json('/JSON?request=getstatus&ref=120'))[0]?.['value']).toBe(255)
  })

  it('accepts a control as POST', async () => {
    const body = JSON.stringify({ action: 'controlbylabel', deviceref: 120, label: 'on' })
    expect((await ask('/JSON', { method: 'POST', body })).status).toBe(200)
    expect(simulator.house.hardware(120)?.value).toBe(255)
    expect(await text('/JSON', { method: 'POST', body: '{"action":"constructor"}' })).toContain('bad request')
  })

  it('changes the stored value without moving the hardware', async () => {
    expect(await text('/JSON?request=setdevicestatus&ref=120&value=255')).toBe('{"Response":"ok"}\r\n')
    expect(await text('/JSON?request=setdevicevaluebyref&ref=111&value=255')).toBe('{"Response":"ok"}\r\n')
    expect([simulator.house.stored(120)?.value, simulator.house.hardware(120)?.value]).toEqual([255, 0])
    expect([simulator.house.stored(111)?.value, simulator.house.hardware(111)?.value]).toEqual([255, 0])
  })

  it('runs events by id and by name, but not disabled ones', async () => {
    expect(await text('/JSON?request=runevent&id=31')).toBe('{"Response":"ok"}\r\n')
    expect(simulator.house.hardware(101)?.value).toBe(20)
    expect(await text('/JSON?request=runevent&group=weekend&name=MOVIE%20NIGHT')).toBe('{"Response":"ok"}\r\n')
    expect(simulator.house.hardware(131)?.value).toBe(10)
    expect(await text('/JSON?request=runevent&id=36')).toContain('Error')
    expect(await text('/JSON?request=runevent&id=999')).toContain('bad request')
  })

  it('returns camera pictures that change with the pan', async () => {
    const picture = async () =>
      new Uint8Array(await (await ask('/JSON?request=getcamerasnapshot&camid=1')).arrayBuffer())
    const before = await picture()
    expect(toHex(before.subarray(0, 3))).toBe('ffd8ff')
    expect(await text('/JSON?request=pancamera&camid=1&direction=rightstart')).toBe('ok\r\n')
    expect(toHex(await picture())).not.toBe(toHex(before))
    expect(await text('/JSON?request=pancamera&camid=2&direction=rightstart')).toBe('error\r\n')
  })

  it('lists the devices changed since the same client last asked', async () => {
    const changed = async () => (await json('/JSON?request=getdeviceschanged&devicechangeid=abc'))['refs']
    expect(await changed()).toEqual([])
    await text('/JSON?request=setdevicestatus&ref=120&value=255')
    expect(await changed()).toEqual([120])
    expect(await changed()).toEqual([])
  })

  it('answers events, plug-ins, settings and the other requests', async () => {
    expect(await json('/JSON?request=getevents')).toMatchObject({
      Events: [{ id: 31, Group: 'Evening' }, {}, {}, {}, {}, {}],
    })
    expect(await json('/JSON?request=pluginlist')).toMatchObject({
      Plugins: [{ ID: 'Z-Wave', UpdateAvailable: true }, {}, {}, {}],
    })
    expect(await json('/JSON?request=getsetting&setting=gLocLabel')).toEqual({ Value: 'Room' })
    expect(await json('/JSON?request=getcounter&counter=doorbell')).toEqual({ Value: 4 })
    expect(await json('/JSON?request=getsessionconfig')).toMatchObject({ username: 'default' })
    expect(await json('/JSON?request=getlocations')).toMatchObject({
      location1: expect.arrayContaining(['All', 'Küche']),
    })
    expect(await text('/JSON?request=__proto__')).toContain('bad request')
  })

  it('requires a login by header or query, and refuses in the configured way', async () => {
    expect((await ask('/JSON?request=hsversion', {}, '')).status).toBe(401)
    expect((await ask('/JSON?request=hsversion&user=default&pass=default', {}, '')).status).toBe(200)
    expect((await ask('/JSON?request=hsversion&user=default&pass=wrong', {}, '')).status).toBe(401)
    simulator.faults.wrongLogin = 'response-text'
    const reply = await ask('/JSON?request=hsversion&user=default&pass=wrong', {}, '')
    expect([reply.status, await reply.text()]).toEqual([200, '{"Response":"Error, login failed"}\r\n'])
    simulator.system.passwordRequired = false
    expect((await ask('/JSON?request=hsversion', {}, '')).status).toBe(200)
  })

  it('lets guests read but not control', async () => {
    const guest = '&user=guest&pass=guest'
    expect(await (await ask(`/JSON?request=controldevicebyvalue&ref=120&value=255${guest}`, {}, '')).text()).toContain(
      'Error',
    )
    expect(simulator.house.hardware(120)?.value).toBe(0)
  })

  it('runs its scripts, and has a backup page', async () => {
    const run = (command: string) =>
      text('/runscript.html', {
        method: 'POST',
        body: `action=run_script_command&scriptcommand=${encodeURIComponent(command)}`,
      })
    expect(await run('evening.vb')).toBe('["response","ok"]\r\n')
    expect(await run('nothing.vb')).toContain('not found')
    expect(await text('/backup.html', { method: 'POST', body: 'action=backup' })).toBe('ok\r\n')
    expect(simulator.system.deeds.map((deed) => [deed.kind, deed.done])).toEqual([
      ['script', true],
      ['script', false],
      ['backup', true],
    ])
  })

  it('can simulate disabled JSON, bare errors and dropped connections', async () => {
    simulator.faults.jsonDisabled = true
    expect(await text('/JSON?request=getstatus')).toContain('disabled')
    simulator.faults.jsonDisabled = false
    simulator.faults.bareError = true
    expect(await text('/JSON?request=getstatus')).toBe('error\r\n')
    simulator.faults.bareError = false
    simulator.faults.dropAfter = 1
    await expect(ask('/JSON?request=controldevicebyvalue&ref=120&value=255')).rejects.toThrow('fetch failed')
    expect(simulator.house.hardware(120)?.value).toBe(255)
    simulator.faults.dropBefore = 1
    await expect(ask('/JSON?request=controldevicebyvalue&ref=111&value=255')).rejects.toThrow('fetch failed')
    expect(simulator.house.hardware(111)?.value).toBe(0)
  })
})

describe('ports of the simulated HomeSeer', () => {
  it('leave none open when one of them is taken', async () => {
    const taken = { host: '127.0.0.1', httpPort: 0, asciiPort: simulator.asciiPort }
    await expect(startHomeseerSimulator(taken)).rejects.toThrow('EADDRINUSE')
    const open = (): readonly string[] => process.getActiveResourcesInfo().filter((each) => each === 'TCPServerWrap')
    // Those of the first one.
    await expect.poll(open).toHaveLength(2)
  })
})

describe('simulated HomeSeer on the ASCII port', () => {
  async function call() {
    const socket = connect(simulator.asciiPort, '127.0.0.1')
    let heard = ''
    socket.setEncoding('utf8').on('data', (piece: string) => (heard += piece))
    await once(socket, 'connect')
    return {
      say: (...lines: readonly string[]) => lines.forEach((line) => socket.write(`${line}\r`)),
      hear: async (until: string) => {
        await expect.poll(() => heard).toContain(until)
        return heard
      },
      [Symbol.dispose]: () => socket.destroy(),
    }
  }

  it('answers as the manual describes', async () => {
    using line = await call()
    line.say('au,default,default', 'vr', 'gs,101', 'gc,101', 'cv,101,99')
    expect(await line.hear('DC,')).toBe(
      'ok\r\n4.2.22.4\r\n101,100,Dim 35%,Hall Lamp,Ground,Hall\r\n' +
        '101,Off=0,Dim (value)%=1->98,On=99,On Last Level=255\r\nok\r\nDC,101,99,35\r\n',
    )
  })

  it('escapes commas, and sends umlauts', async () => {
    using line = await call()
    line.say('au,default,default', 'gs,180')
    expect(await line.hear('Küche')).toContain('180,0,Off,Küchentheke\\, links,Ground,Küche')
  })

  it('pushes every change to all clients, logged in or not', async () => {
    using line = await call()
    line.say('vr')
    await line.hear('error')
    simulator.move(HARD_CASE_DEVICE_REFS.windowContact, 255)
    expect(await line.hear('DC,170,255,0\r\n')).not.toContain('DC,170,0,255')
    await text('/JSON?request=setdevicestatus&ref=170&value=0')
    expect(await line.hear('DC,170,0,255\r\n')).toContain('DC')
  })

  it('refuses unauthenticated clients, guests and unknown commands', async () => {
    using line = await call()
    line.say('cv,120,255', 'au,guest,guest', 'au,default,wrong', 'au,default,default', 'zz', 'lo', 'vr')
    expect((await line.hear('ok\r\nerror, not authorized')).split('\r\n')).toEqual([
      'error, not authorized',
      'error, login failed',
      'error, login failed',
      'ok',
      'error',
      'ok',
      'error, not authorized',
      '',
    ])
    expect(simulator.house.hardware(120)?.value).toBe(0)
  })
})
