/**
 * A HomeSeer that is not what it should be, or somebody else at its address: what it answers, what it pushes, and what
 * its owner's house makes of that. Over real sockets, in front of the simulated HomeSeer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request as ask } from 'node:http'
import type { Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { HARD_CASE_DEVICE_REFS } from '../../src/sim/homeseer/hard-case-devices.ts'
import type { World } from '../homeseer-rig.ts'
import { at, CLAIMS, openHouse, openWorld } from '../homeseer-rig.ts'
import { listenLocally } from '../local-port.ts'

const { hallLamp } = HARD_CASE_DEVICE_REFS

/** What somebody in between makes of an answer. */
type Twist = (url: string, body: string) => string | Promise<string>

let world: World
let twist: Twist
const listeners = new Set<Socket>()

/** Passes everything on to the simulator, and its answers through the twist. */
const between = createServer((request, response) => void passOn(request, response))
/** Takes every login, and pushes what the test says. */
const pushing = createTcpServer((socket) => {
  listeners.add(socket)
  socket.on('close', () => listeners.delete(socket))
  socket.on('error', () => undefined)
  socket.on('data', () => socket.write('ok\r\n'))
})

async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '', method, headers } = request
  const onward = ask({ host: '127.0.0.1', port: world.simulator.httpPort, path: url, method, headers })
  request.pipe(onward)
  onward.on('response', (answer) => {
    void text(answer).then(async (body) => response.end(await twist(url, body)))
  })
}

let homeseer: JsonObject

beforeEach(async () => {
  twist = (_url, body) => body
  world = await openWorld()
  homeseer = {
    url: `http://127.0.0.1:${await listenLocally(between)}`,
    push: { asciiPort: await listenLocally(pushing) },
  }
})
afterEach(async () => {
  for (const socket of listeners) socket.destroy()
  listeners.clear()
  between.closeAllConnections()
  between.close()
  pushing.close()
  await world.close()
})

describe('a pushed value that contradicts the device', () => {
  it('does not count as verification of a change', async () => {
    twist = async (url, body) => {
      if (url.includes('controldevice')) return '{"Response":"ok"}'
      if (!url.includes('getstatus')) return body
      for (const socket of listeners) socket.write(`DC,${hallLamp},77,35\r\n`)
      // The push is heard before the answer, and after the question.
      await wait(50)
      return body.replaceAll('"value":77', '"value":35')
    }
    await using house = await openHouse(world, { homeseer })
    await expect.poll(() => listeners.size).toBe(1)
    const answer = await house.call('hs4.devices.set', { ref: hallLamp, value: 77, ...CLAIMS })
    expect(at(answer, 'error', 'details', 'verification')).toMatchObject({
      matched: false,
      before: { value: 35 },
      observed: { value: 35, source: 'read' },
    })
  })
})

describe('a change to a HomeSeer whose later answers are unusable', () => {
  it.each([
    ['a page to log in', () => '<html><form><input type="password" name="pass"></form></html>'],
    ['half an answer', (body: string) => body.slice(0, -20)],
    ['a list without the device', () => '{"Name":"HomeSeer Devices","Version":"1.1","Devices":[]}'],
  ])('has an unknown outcome, not a failure, after %s', async (_, answerOf) => {
    let isTold = false
    twist = (url, body) => {
      isTold ||= url.includes('controldevice')
      return isTold && url.includes('getstatus') ? answerOf(body) : body
    }
    await using house = await openHouse(world, { homeseer })
    const answer = await house.call('hs4.devices.set', { ref: hallLamp, value: 77, ...CLAIMS })
    expect(answer).toMatchObject({
      error: { code: 'UNKNOWN', details: { verification: { matched: false, outcome: 'unread' } } },
    })
    expect(world.simulator.house.hardware(hallLamp)?.value).toBe(77)
  })

  it('of the stored value has an unknown outcome when it cannot be read back', async () => {
    let isStored = false
    twist = (url, body) => {
      isStored ||= url.includes('setdevicestatus')
      return isStored && url.includes('getstatus') ? '{' : body
    }
    await using house = await openHouse(world, { homeseer })
    const args = { ref: hallLamp, mode: 'set_status', statusText: 'Fine', ...CLAIMS }
    expect(await house.call('hs4.devices.set', args)).toMatchObject({ error: { code: 'UNKNOWN' } })
    expect(world.simulator.system.deeds.map(({ kind }) => kind)).toEqual(['store'])
  })

  it('of several devices has an unknown outcome when no command was answered', async () => {
    for (const ref of world.simulator.house.refs) world.simulator.faults.stuck.add(ref)
    twist = (url, body) => (url.includes('controldevice') ? '{"Dev' : body)
    await using house = await openHouse(world, { homeseer })
    const answer = await house.call('hs4.areas.set', { kind: 'light', location1: 'Kitchen', label: 'On', ...CLAIMS })
    expect(answer).toMatchObject({
      error: { code: 'UNKNOWN', details: { devices: [{ told: false, mayHaveActed: true, matched: false }] } },
    })
  })
})

describe('a HomeSeer number or nesting that JSON cannot carry', () => {
  it('is replaced in its member, and the list keeps all devices', async () => {
    const deep = `${'['.repeat(9_000)}${']'.repeat(9_000)}`
    twist = (url, body) =>
      url.includes('getstatus')
        ? body.replace(`{"ref":${hallLamp},`, `{"ref":${hallLamp},"worth":1e999,"deep":${deep},`)
        : body
    await using house = await openHouse(world, { homeseer })
    const answer = await house.call('hs4.devices.list', { includeRaw: true })
    expect(at(answer, 'result', 'total')).toBe(38)
    expect(JSON.stringify(answer)).toContain('"worth":null')
  })

  it('is ignored when pushed as a value', async () => {
    await using house = await openHouse(world, { homeseer })
    await house.call('hs4.devices.list')
    // Again and again: what is pushed before it has logged in, or before the house was read, is not heard or not kept.
    const pushedRoot = async (): Promise<string> => {
      for (const socket of listeners)
        socket.write(`DC,${hallLamp},1e999,35\r\nDC,${HARD_CASE_DEVICE_REFS.hallLampRoot},7,0\r\n`)
      return JSON.stringify(await house.call('hs4.devices.get', { refs: [HARD_CASE_DEVICE_REFS.hallLampRoot] }))
    }
    await expect.poll(pushedRoot).toContain('"value":7')
    const answer = await house.call('hs4.devices.get', { refs: [hallLamp] })
    expect(at(answer, 'result', 'found')).toEqual([hallLamp])
  })
})
