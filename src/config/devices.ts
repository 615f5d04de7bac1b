/**
 * Devices section: the listener that ESP32 devices connect to.
 *
 * Pure.
 */
import { z } from 'zod'

export const devicesSection = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Listen for ESP32 devices.'),
    host: z.string().default('0.0.0.0').describe('Address of the devices listener (devices are on the LAN).'),
    port: z.int().min(0).max(65_535).default(7421).describe('Port of the devices listener: OTA, WebSocket, vision.'),
  })
  .prefault({})

export type DevicesConfig = z.output<typeof devicesSection>
