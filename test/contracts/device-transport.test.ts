import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../local-port.ts'
import { openHouse } from '../flows/devices/house.ts'
import { deviceTransportContract } from './device-transport.ts'

async function openOwn() {
  const house = await openHouse()
  return { house, close: house.stop }
}

deviceTransportContract('WebSocket', { transport: 'websocket', device: { profile: 'fw-2.4' }, open: openOwn })
deviceTransportContract('our own MQTT broker', { transport: 'mqtt', device: { profile: 'fw-2.4' }, open: openOwn })

/** From Debian's packages; `npm test` installs it where it may. */
const MOSQUITTO = 'mosquitto'
const haveMosquitto = spawnSync('sh', ['-c', `command -v ${MOSQUITTO}`]).status === 0

if (haveMosquitto)
  // A device that subscribes: Mosquitto cannot push to one that does not.
  deviceTransportContract('a Mosquitto broker', {
    transport: 'mqtt-broker',
    device: { profile: 'py' },
    open: openBehindMosquitto,
  })
else
  process.stderr.write(
    '\nNOT RUN: mosquitto is not installed, so devices behind an external broker were not tried.\n\n',
  )

async function openBehindMosquitto() {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'hearthbus-mosquitto-'))
  const config = join(directory, 'mosquitto.conf')
  writeFileSync(config, `listener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\n`)
  const broker = spawn(MOSQUITTO, ['-c', config], { stdio: 'ignore' })
  // Also when a test is cut short, nothing is left running.
  process.once('exit', () => broker.kill())
  const house = await openHouse({
    broker: {
      url: `mqtt://127.0.0.1:${port}`,
      endpoint: `127.0.0.1:${port}`,
      uplink: 'devices/up/{device}',
      downlink: 'devices/p2p/{device}',
      account: undefined,
    },
  })
  while (!house.brokerConnected()) await new Promise((resolve) => setTimeout(resolve, 20))
  const close = async () => {
    await house.stop()
    broker.kill()
    rmSync(directory, { recursive: true })
  }
  return { house, close }
}
